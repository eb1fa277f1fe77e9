package load

import (
	"context"
	"encoding/binary"
	"time"
)

// Pacer spreads messages evenly over time.
type Pacer struct {
	start time.Time
	every time.Duration
}

// NewPacer starts now; rate is messages per second.
func NewPacer(rate float64) *Pacer {
	return &Pacer{start: time.Now(), every: time.Duration(float64(time.Second) / rate)}
}

// Due is when message i is to be sent. Latency counts from here, so that a sender that was held up does not hide it.
func (p *Pacer) Due(i int) time.Time { return p.start.Add(time.Duration(i) * p.every) }

// Wait sleeps until message i is due and returns how many are due by now, i among them.
func (p *Pacer) Wait(ctx context.Context, i int) (int, error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if late := time.Since(p.Due(i)); late >= 0 {
			return int(late/p.every) + 1, nil
		}
		time.Sleep(min(time.Until(p.Due(i)), 10*time.Millisecond))
	}
}

// Stamp writes a time into the first 8 bytes of a payload.
func Stamp(payload []byte, at time.Time) {
	binary.BigEndian.PutUint64(payload, uint64(at.UnixNano()))
}

// Age is the time since a payload was stamped.
func Age(payload []byte) time.Duration {
	return time.Duration(time.Now().UnixNano() - int64(binary.BigEndian.Uint64(payload)))
}
