package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"

	"google.golang.org/protobuf/proto"
)

// TestInspectBucket: what is in object storage is read with --bucket, and named without.
func TestInspectBucket(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "spool")
	spoold, url := program(t, "spoold"), "file://"+t.TempDir()
	b, err := openObjects(ctx, spoold, url)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 1) // the time was
	now := func() time.Time {
		select {
		case asked <- struct{}{}:
		default:
		}
		return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	}
	s, err := storage.Open(ctx, storage.Options{Dir: dir, Bucket: b, OffloadInterval: time.Millisecond, Now: now, Ledger: storage.LedgerLimits{MaxEntries: 5}})
	if err != nil {
		t.Fatal(err)
	}
	name, err := wire.ParseTopic("orders")
	if err != nil {
		t.Fatal(err)
	}
	results := make(stored, 8)
	tp, err := s.CreateTopic(ctx, name, storage.TopicOptions{Sink: results})
	if err != nil {
		t.Fatal(err)
	}
	tp.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
	tp.SetOffloadPolicy(storage.OffloadPolicy{Threshold: -1})
	for i := range 7 {
		ms := now().UnixMilli()
		meta := &pb.MessageMetadata{ProducerName: proto.String("p"), SequenceId: proto.Uint64(uint64(i)), PublishTime: proto.Uint64(uint64(ms))}
		if err := tp.Append(storage.Append{Data: wire.BuildEntry(meta, fmt.Append(nil, "order ", i)), PublishTime: ms, Messages: 1}); err != nil {
			t.Fatal(err)
		}
		<-results
	}
	if err := tp.Offload(wire.Latest()); err != nil {
		t.Fatal(err)
	}
	for looks := 0; !tp.Ledgers()[0].LocalDeleted; looks++ {
		if looks == 10_000 {
			t.Fatal(tp.OffloadStatus())
		}
		<-asked
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		out  []string // on standard output
		errs string   // on standard error
		args []string
	}{
		{3, []string{"order 5", "order 6"}, "--bucket URL", []string{"messages", "orders"}},
		{3, nil, "--bucket URL", []string{"message", "1:2"}},
		{0, []string{"ENTRIES             7"}, "", []string{"summary"}},
		{0, []string{"object", "spool"}, "", []string{"ledgers", "orders"}},
		{0, []string{"OFFLOADED   5"}, "", []string{"verify"}},
		{0, []string{"order 0", "order 4", "order 6"}, "", []string{"messages", "orders", "--bucket", url, "--spoold", spoold}},
		{0, []string{"OFFLOADED   0"}, "", []string{"verify", "--bucket", url, "--spoold", spoold}},
		{2, nil, "not the URL", []string{"verify", "--bucket", "folder"}},
		{3, []string{"order 6"}, "no such object", []string{"messages", "orders", "--bucket", "file://" + t.TempDir(), "--spoold", spoold}},
	} {
		code, out, errs := runArgs(t, nil, append([]string{"inspect", "--spool", dir}, c.args...)...)
		missing := slices.ContainsFunc(c.out, func(text string) bool { return !strings.Contains(out, text) })
		if code != c.code || missing || !strings.Contains(errs, c.errs) || (c.code == 0 && errs != "") {
			t.Errorf("%v: exit %d\n%s\n%s", c.args, code, out, errs)
		}
	}
}
