package offload_test

import (
	"bytes"
	"context"
	"testing"

	"spoolctl/storage/offload"
)

// BenchmarkObject writes and reads a ledger of 64 MiB in entries of 1 KiB; the bucket is memory.
func BenchmarkObject(b *testing.B) {
	const n = 64 << 10
	value := bytes.Repeat([]byte{7}, 1<<10)
	opts := offload.WriteOptions{Ledger: offload.Ref{Spool: spool, Ledger: 1, Entries: n},
		Source: func(_ context.Context, each func(int64, []byte) error) error {
			for i := range int64(n) {
				if err := each(i, value); err != nil {
					return err
				}
			}
			return nil
		}}
	fake := newBucket()
	opts.Bucket = fake
	var o offload.Object
	b.Run("write", func(b *testing.B) {
		b.SetBytes(n << 10)
		for b.Loop() {
			clear(fake.objects)
			var err error
			if o, err = offload.Write(context.Background(), opts); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(n << 10)
		b.ReportAllocs()
		for b.Loop() {
			r, err := offload.Open(context.Background(), offload.OpenOptions{Bucket: fake, Object: o})
			if err != nil {
				b.Fatal(err)
			}
			if err := r.Read(context.Background(), 0, n, 1<<30, func(int64, []byte) error { return nil }); err != nil {
				b.Fatal(err)
			}
			r.Close()
		}
	})
}
