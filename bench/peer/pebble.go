package peer

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"time"

	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2"
)

// Pebble commits messages of a payload in fsynced batches of 128, eight in flight, and nothing more: the most that the
// engine gives with the spool's own options.
func Pebble(dir string, messages int, payload []byte) (perSecond float64, err error) {
	dir = filepath.Join(dir, "pebble")
	if err := os.RemoveAll(dir); err != nil {
		return 0, err
	}
	db, err := pebble.Open(dir, storage.EngineOptions())
	if err != nil {
		return 0, err
	}
	inFlight := make(chan *pebble.Batch, 8)
	done := make(chan error, 1)
	go func() {
		var first error
		for b := range inFlight {
			if err := b.SyncWait(); err != nil && first == nil {
				first = err
			}
			b.Close()
		}
		done <- first
	}()
	start := time.Now()
	for i := 0; i < messages; {
		b := db.NewBatch(pebble.WithMaxRetainedSizeBytes(4 << 20))
		for n := 0; n < 128 && i < messages; n++ {
			d := b.SetDeferred(9, len(payload))
			d.Key[0] = 'e'
			binary.BigEndian.PutUint64(d.Key[1:], uint64(i))
			copy(d.Value, payload)
			if err := d.Finish(); err != nil {
				return 0, err
			}
			i++
		}
		if err := db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
			return 0, err
		}
		inFlight <- b
	}
	close(inFlight)
	err = <-done
	took := time.Since(start)
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	if rerr := os.RemoveAll(dir); err == nil {
		err = rerr
	}
	return float64(messages) / took.Seconds(), err
}
