package peer

import (
	"context"
	"errors"
	"os"
	"time"

	"spoolctl/bench/load"
	"spoolctl/storage"
	"spoolctl/wire"
)

// PublishStore stores messages in one topic of a spool, without a broker, and returns messages per second until all count
// as stored. The spool is removed afterwards.
func PublishStore(ctx context.Context, dir string, ring *load.Ring, messages int, sync storage.SyncMode) (rate float64, err error) {
	if err := os.RemoveAll(dir); err != nil {
		return 0, err
	}
	s, err := storage.Open(ctx, storage.Options{Dir: dir, Sync: sync})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx), os.RemoveAll(dir)) }()
	name, err := wire.ParseTopic("persistent://public/default/bench")
	if err != nil {
		return 0, err
	}
	room := &window{free: make(chan struct{}, inFlight*batchMessages)}
	t, err := s.CreateTopic(ctx, name, storage.TopicOptions{Sink: room})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	for i := range messages {
		room.free <- struct{}{}
		now := time.Now().UnixMilli()
		if err := t.Append(storage.Append{Data: ring.Entry(i), PublishTime: now, Messages: 1}); err != nil {
			return 0, err
		}
	}
	for range cap(room.free) { // the last ones
		room.free <- struct{}{}
	}
	took := time.Since(start)
	return float64(messages) / took.Seconds(), errors.Join(room.err, t.Close(ctx))
}

// window has a place for each message that waits for its result.
type window struct {
	free chan struct{}
	err  error // the last one; written before the places of its messages are free
}

// Committed implements storage.Sink.
func (w *window) Committed(entries []storage.Appended, err error) {
	if err != nil {
		w.err = err
	}
	for range entries {
		<-w.free
	}
}
