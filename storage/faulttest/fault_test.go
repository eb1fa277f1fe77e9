package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestLogErrors lets the log fail from one write or sync on. No append may be reported as stored that is not there after a
// power loss, none may hang, the store must say that it is unhealthy, and the process lives on.
func TestLogErrors(t *testing.T) {
	for at := range int64(12) {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			var armed atomic.Bool
			var n atomic.Int64
			w := workload{armed: &armed, injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
				if armed.Load() && strings.HasSuffix(op.Path, ".log") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && n.Add(1) > at {
					return errorfs.ErrInjected
				}
				return nil
			})}
			w.run(t)
			w.check(t)
			if w.failed == 0 {
				t.Error("no append failed")
			}
			if u := (*storage.UnhealthyError)(nil); !errors.As(w.health, &u) || !errors.Is(w.health, errorfs.ErrInjected) {
				t.Errorf("health is %v", w.health)
			}
			if w.closed == nil {
				t.Error("closing a store that could not write succeeded")
			}
		})
	}
}

// TestEveryFault lets one file operation after another fail, reads too, once or from then on, from opening to closing. What
// is promised is the same.
func TestEveryFault(t *testing.T) {
	if raceBuild {
		t.Skip("Pebble's own checks in race builds panic after a failed compaction")
	}
	step := int64(1)
	if testing.Short() {
		step = 31
	}
	for _, sticky := range []bool{false, true} {
		t.Run(fmt.Sprintf("sticky=%v", sticky), func(t *testing.T) {
			stored, failed := 0, 0
			for at := int64(0); ; at += step {
				var n atomic.Int64
				w := workload{injector: errorfs.InjectorFunc(func(errorfs.Op) error {
					if i := n.Add(1) - 1; i == at || (sticky && i > at) {
						return errorfs.ErrInjected
					}
					return nil
				})}
				w.run(t)
				w.check(t)
				if t.Failed() {
					t.Fatalf("with operation %d failing", at)
				}
				stored += len(w.stored)
				failed += w.failed
				if n.Load() <= at {
					t.Logf("%d operations in steps of %d: %d appends stored and kept, %d refused", at, step, stored, failed)
					return
				}
			}
		})
	}
}

// workload is one store's life on files that fail.
type workload struct {
	injector errorfs.Injector
	armed    *atomic.Bool // set when the topic is made; may be nil

	mem    *vfs.MemFS
	stored []storage.Appended
	failed int
	health error
	closed error
}

// run does what it can: appends over several epochs and ledgers, and acknowledgements.
func (w *workload) run(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	defer func() {
		if ctx.Err() != nil {
			t.Error("something hung")
		}
	}()
	w.mem = vfs.NewCrashableMem()
	s, err := storage.Open(ctx, options(errorfs.Wrap(w.mem, w.injector)))
	if err != nil {
		return
	}
	defer func() {
		w.health = s.Health()
		w.closed = s.Close(ctx)
	}()
	sk := storagetest.NewSink()
	tp, err := s.CreateTopic(ctx, topicName(t), storage.TopicOptions{Sink: sk})
	if err != nil {
		return
	}
	c, err := tp.CreateCursor(ctx, storage.CursorOptions{Name: "keep", MarkDelete: wire.Earliest(), Durable: true})
	if err != nil {
		return
	}
	if w.armed != nil {
		w.armed.Store(true)
	}
	sent := 0
	for ; sent < 200; sent++ {
		if err := tp.Append(storage.Append{Data: fmt.Appendf(nil, "%0800d", sent)}); err != nil {
			break
		}
		if sent%20 == 19 {
			sk.Wait(sent + 1)
			// An acknowledgement may fail like everything else; what it promises is package storage's crash test.
			_ = c.Ack([]storage.Ack{{Position: wire.Position{Ledger: tp.First().Ledger, Entry: 1}}}, nil)
		}
	}
	w.stored = sk.Wait(sent)
	_, w.failed = sk.Results()
}

// check opens what a power loss leaves and compares it with what was reported as stored.
func (w *workload) check(t *testing.T) {
	t.Helper()
	got, found := entries(t, w.mem.CrashClone(vfs.CrashCloneCfg{}))
	if !found && len(w.stored) > 0 {
		t.Error("the topic is gone")
		return
	}
	if len(got) < len(w.stored) {
		t.Errorf("%d appends were reported as stored, %d are there", len(w.stored), len(got))
		return
	}
	for i, e := range w.stored {
		if got[i] != string(e.Data) {
			t.Errorf("entry %d is %.8s…, want %.8s…", i, got[i], e.Data)
			return
		}
	}
}
