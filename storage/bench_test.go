package storage_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"testing"

	"spoolctl/storage"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

type countingSink struct{ n, bad atomic.Int64 }

func (c *countingSink) Committed(entries []storage.Appended, err error) {
	if err != nil {
		c.bad.Add(int64(len(entries)))
	}
	c.n.Add(int64(len(entries)))
}

// BenchmarkAppend stores 1 KiB entries, fsynced, over some topics. allocs/op is per entry.
func BenchmarkAppend(b *testing.B) {
	for _, topics := range []int{1, 256} {
		b.Run(fmt.Sprintf("topics=%d", topics), func(b *testing.B) {
			ctx := context.Background()
			s, err := storage.Open(ctx, storage.Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			sk := &countingSink{}
			all := make([]*storage.Topic, topics)
			for i := range all {
				n, err := wire.ParseTopic(fmt.Sprint("t", i))
				if err != nil {
					b.Fatal(err)
				}
				if all[i], err = s.CreateTopic(ctx, n, storage.TopicOptions{Sink: sk}); err != nil {
					b.Fatal(err)
				}
				if _, err := all[i].CreateCursor(ctx, storage.CursorOptions{Name: "keep", MarkDelete: wire.Earliest(), Durable: true}); err != nil {
					b.Fatal(err)
				}
			}
			data := make([]byte, 1024)
			if _, err := rand.Read(data); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(1024)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if err := all[i%topics].Append(storage.Append{Data: data, PublishTime: 1, Messages: 1}); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.Close(ctx); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if sk.bad.Load() != 0 || sk.n.Load() != int64(b.N) {
				b.Fatalf("%d of %d stored, %d failed", sk.n.Load(), b.N, sk.bad.Load())
			}
		})
	}
}

// BenchmarkBarePebble is the yardstick: the same bytes in pipelined fsynced batches of 256, no more.
func BenchmarkBarePebble(b *testing.B) {
	db, err := pebble.Open(b.TempDir(), storage.EngineOptions())
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 1024)
	if _, err := rand.Read(data); err != nil {
		b.Fatal(err)
	}
	inFlight := make(chan *pebble.Batch, 8)
	done := make(chan error, 1)
	go func() {
		var first error
		for batch := range inFlight {
			if err := batch.SyncWait(); err != nil && first == nil {
				first = err
			}
			batch.Close()
		}
		done <- first
	}()
	b.SetBytes(1024)
	b.ResetTimer()
	for i := 0; i < b.N; {
		batch := db.NewBatch(pebble.WithMaxRetainedSizeBytes(4 << 20))
		for range 256 {
			d := batch.SetDeferred(25, 1040)
			d.Key[0] = 'e'
			for j := range 8 {
				d.Key[17+j] = byte(i >> (56 - 8*j))
			}
			copy(d.Value[16:], data)
			d.Finish()
			if i++; i == b.N {
				break
			}
		}
		if err := db.ApplyNoSyncWait(batch, pebble.Sync); err != nil {
			b.Fatal(err)
		}
		inFlight <- batch
	}
	close(inFlight)
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	db.Close()
}
