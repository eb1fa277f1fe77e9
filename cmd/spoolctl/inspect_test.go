package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"spoolctl/format"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"

	"github.com/cockroachdb/datadriven"
	"google.golang.org/protobuf/proto"
)

// stored collects the results of appends.
type stored chan storage.Appended

// Committed implements storage.Sink.
func (s stored) Committed(entries []storage.Appended, err error) {
	for _, e := range entries {
		if err != nil {
			e.Position = wire.Earliest()
		}
		s <- e
	}
}

// spoolOf makes a spool with one topic of twelve entries and a subscription
// with a hole and a batch acknowledged in part.
func spoolOf(t *testing.T) string {
	t.Helper()
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "spool")
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	s, err := storage.Open(ctx, storage.Options{Dir: dir, Now: func() time.Time { return at }, Ledger: storage.LedgerLimits{MaxEntries: 5}})
	if err != nil {
		t.Fatal(err)
	}
	name, err := wire.ParseTopic("orders")
	if err != nil {
		t.Fatal(err)
	}
	results := make(stored, 64)
	tp, err := s.CreateTopic(ctx, name, storage.TopicOptions{Sink: results})
	if err != nil {
		t.Fatal(err)
	}
	tp.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
	c, err := tp.CreateCursor(ctx, storage.CursorOptions{Name: "billing", MarkDelete: wire.Earliest(), Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	var pos []wire.Position
	for i := range 12 {
		ms := at.Add(time.Duration(i) * time.Second).UnixMilli()
		meta := &pb.MessageMetadata{ProducerName: proto.String("p"), SequenceId: proto.Uint64(uint64(i)), PublishTime: proto.Uint64(uint64(ms)), PartitionKey: proto.String(fmt.Sprint("k", i%2))}
		body, n := fmt.Appendf(nil, `{"order":%d}`, i), int32(1)
		if i == 3 {
			meta.NumMessagesInBatch, n = proto.Int32(2), 2
			body = wire.AppendSingle(nil, &pb.SingleMessageMetadata{}, []byte("first"))
			body = wire.AppendSingle(body, &pb.SingleMessageMetadata{}, []byte("second"))
		}
		if err := tp.Append(storage.Append{Data: wire.BuildEntry(meta, body), PublishTime: ms, Messages: n}); err != nil {
			t.Fatal(err)
		}
		pos = append(pos, (<-results).Position)
	}
	done := make(chan error, 1)
	acks := []storage.Ack{{Position: pos[0]}, {Position: pos[2]}, {Position: pos[3], Remaining: []uint64{0b10}}, {Position: pos[6]}}
	if err := c.Ack(acks, func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-done, s.Close(context.WithoutCancel(ctx))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestInspectTables compares what people see with testdata/inspect.golden. Run
// with -rewrite to take over what has changed.
func TestInspectTables(t *testing.T) {
	dir := spoolOf(t)
	// A ledger's creation may share a batch with its first entry or not.
	someChunks := regexp.MustCompile(`LOG_CHUNKS  [1-9]\d*`)
	datadriven.RunTest(t, "testdata/inspect.golden", func(t *testing.T, d *datadriven.TestData) string {
		args := append([]string{"inspect", "--spool", dir}, strings.Fields(d.Input)...)
		code, out, errs := runArgs(t, nil, args...)
		text := out + errs
		if code != exitOK {
			text += fmt.Sprintf("exit %d\n", code)
		}
		text = someChunks.ReplaceAllString(text, "LOG_CHUNKS  N")
		return strings.ReplaceAll(text, dir, "SPOOL")
	})
}

// verbs are all verbs of inspect with arguments that fit spoolOf.
func verbs() [][]string {
	return [][]string{
		{"summary"}, {"topics"}, {"topics", "--producers"}, {"ledgers", "orders"}, {"entries", "orders"}, {"messages", "orders"},
		{"messages", "orders", "--pending", "billing", "--payload", "text"}, {"message", "1:3"}, {"cursors"},
		{"ranges", "orders", "billing"}, {"backlog", "--explain"}, {"verify"}, {"verify", "--fast"}, {"keys", "--hex"},
	}
}

// TestInspectFormats runs every verb in every format.
func TestInspectFormats(t *testing.T) {
	dir := spoolOf(t)
	for _, v := range verbs() {
		for _, o := range append(format.Formats(), "template={{.}}") {
			args := append([]string{"inspect"}, slices.Insert(slices.Clone(v), 1, dir)...)
			code, out, errs := runArgs(t, nil, append(args, "-o", o)...)
			if code != exitOK || errs != "" {
				t.Errorf("%v -o %s: exit %d, %s", v, o, code, errs)
			}
			if o == "json" && !json.Valid([]byte(out)) {
				t.Errorf("%v: not JSON: %s", v, out)
			}
		}
	}
}

func TestInspectNoSpool(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for _, v := range verbs() {
		args := append([]string{"inspect", "--spool", dir}, v...)
		code, out, errs := runArgs(t, nil, args...)
		if code != exitUnavailable || out != "" || !strings.Contains(errs, "error: no spool at "+dir) {
			t.Errorf("%v: exit %d, %q, %q", v, code, out, errs)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the spool was made: %v", err)
	}
	if code, _, errs := runArgs(t, nil, "inspect", "topics"); code != exitUsage || !strings.Contains(errs, "--spool") {
		t.Errorf("without a spool: exit %d, %s", code, errs)
	}
}

// TestInspectDamaged flips bytes in the log: the answer comes, and ends with
// what could not be read.
func TestInspectDamaged(t *testing.T) {
	dir := spoolOf(t)
	logs, err := filepath.Glob(filepath.Join(dir, "store", "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	data, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	copy(data[len(data)/2:], "damage")
	if err := os.WriteFile(logs[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runArgs(t, nil, "inspect", "topics", dir)
	if code != exitProblems || !strings.Contains(out, "orders") || !strings.Contains(errs, "could not be read:\n") || !strings.Contains(errs, "a part of the log is damaged") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	code, out, errs = runArgs(t, nil, "inspect", "topics", dir, "-o", "json")
	var said struct {
		Code    int
		Details struct{ Problems []struct{ File, What string } }
	}
	if err := json.Unmarshal([]byte(errs), &said); err != nil || code != exitProblems || said.Code != exitProblems || len(said.Details.Problems) < 2 || !json.Valid([]byte(out)) {
		t.Errorf("exit %d, %v\n%s\n%s", code, err, out, errs)
	}
	if code, _, _ = runArgs(t, nil, "inspect", "verify", dir); code != exitProblems {
		t.Errorf("verify: exit %d", code)
	}
}
