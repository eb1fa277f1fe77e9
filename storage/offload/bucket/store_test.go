package bucket_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"
)

// TestStore offloads the ledgers of a spool to a folder and to an S3 server, reads them back after a restart, and deletes
// them with the topic.
func TestStore(t *testing.T) {
	for name, address := range map[string]string{"folder": "file://" + filepath.ToSlash(t.TempDir()), "s3": startS3(t)} {
		t.Run(name, func(t *testing.T) { testStore(t, address) })
	}
}

func testStore(t *testing.T, address string) {
	ctx, b := context.Background(), open(t, address)
	looked := make(chan struct{})
	o := storage.Options{
		Dir: filepath.Join(t.TempDir(), "spool"), Bucket: b, OffloadInterval: time.Millisecond, TailCacheBytes: 1,
		Ledger: storage.LedgerLimits{MaxEntries: 100},
		Now: func() time.Time {
			select {
			case looked <- struct{}{}:
			default:
			}
			return time.Now()
		},
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	until := func(ok func() bool) {
		for !ok() {
			<-looked
		}
	}
	s, err := storage.Open(ctx, o)
	must(err)
	name, err := wire.ParseTopic("offloaded")
	must(err)
	sink := storagetest.NewSink()
	tp, err := s.CreateTopic(ctx, name, storage.TopicOptions{Sink: sink})
	must(err)
	_, err = tp.CreateCursor(ctx, storage.CursorOptions{Name: "s", MarkDelete: wire.Earliest(), Durable: true})
	must(err)
	for i := range 350 {
		must(tp.Append(storage.Append{Data: fmt.Append(nil, i), PublishTime: 1}))
	}
	sink.Wait(350)
	must(tp.Offload(wire.Latest()))
	until(func() bool { return tp.Ledgers()[2].LocalDeleted })
	must(s.Close(ctx))

	s, err = storage.Open(ctx, o)
	must(err)
	tp, err = s.OpenTopic(ctx, name, sink)
	must(err)
	i := 0
	for from := wire.Earliest(); ; {
		got, next, err := tp.Cursor("s").Pending(ctx, from, 77, 1<<20, nil)
		must(err)
		if len(got) == 0 {
			break
		}
		for _, e := range got {
			if string(e.Data) != fmt.Sprint(i) {
				t.Fatalf("entry %d is %q", i, e.Data)
			}
			i++
		}
		from = next
	}
	if i != 350 {
		t.Errorf("%d entries read", i)
	}
	must(tp.Close(ctx))
	must(s.DeleteTopic(ctx, name))
	until(func() bool {
		for range b.List(ctx, "") {
			return false
		}
		return true
	})
	must(s.Close(ctx))
}
