package compaction_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"spoolctl/storage/compaction"
)

// BenchmarkRun compacts messages of 200 bytes over many keys, in room for all of them and for few.
func BenchmarkRun(b *testing.B) {
	for _, shape := range []struct {
		name  string
		batch int
	}{{"single", 1}, {"batch-100", 100}} {
		const messages, keys = 200_000, 50_000
		value := string(make([]byte, 200))
		var tp topic
		for range messages / shape.batch {
			it := item{form: single}
			if shape.batch > 1 {
				it.form = batch
			}
			for range shape.batch {
				it.msgs = append(it.msgs, msg{key: fmt.Sprint("key-", rand.IntN(keys)), value: value})
			}
			tp = append(tp, it.encode(b))
		}
		for _, memory := range []int64{64 << 20, 1 << 20} {
			b.Run(fmt.Sprintf("%s/memory=%dMiB", shape.name, memory>>20), func(b *testing.B) {
				b.ReportAllocs()
				var stats compaction.Stats
				for b.Loop() {
					var err error
					if stats, err = compaction.Run(context.Background(), tp.read, compaction.Options{MemoryBytes: memory, Emit: func(compaction.Entry) error { return nil }}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(stats.Passes), "passes")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(stats.Passes)/messages, "ns/message/pass")
			})
		}
	}
}
