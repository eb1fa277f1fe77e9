package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"spoolctl/format"
	"spoolctl/inspect/archive"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
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
	dir, _ := spools(t)
	return dir
}

// killedSpoolOf makes the same spool as a broker leaves it that is killed: everything is in the log.
func killedSpoolOf(t *testing.T) string {
	t.Helper()
	_, dir := spools(t)
	return dir
}

// spools makes a spool, and a copy from before it was closed.
func spools(t *testing.T) (stopped, killed string) {
	t.Helper()
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "spool")
	killed = filepath.Join(t.TempDir(), "spool")
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
	if err := errors.Join(<-done, os.CopyFS(killed, os.DirFS(dir)), s.Close(context.WithoutCancel(ctx))); err != nil {
		t.Fatal(err)
	}
	return dir, killed
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
		{"keys", "--internal"}, {"producers"}, {"schemas"}, {"policies"}, {"delayed", "--past"}, {"dedup"},
		{"sizes", "--by", "topic"}, {"sizes", "--ages"}, {"du"}, {"du", "--by", "topic"}, {"du", "--by", "file"}, {"usage"}, {"usage", "--by", "subscription"},
		{"trace", "1:3"}, {"wal"}, {"wal", "--keys"}, {"lsm"}, {"files"}, {"files", "--edits"}, {"transactions"},
		{"export", "orders", "--form", "ndjson", "--into", "-"},
	}
}

// TestInspectFormats runs every verb in every format.
func TestInspectFormats(t *testing.T) {
	dir := spoolOf(t)
	for _, v := range verbs() {
		for _, o := range append(format.Formats(), "template={{.}}") {
			args := append([]string{"inspect"}, slices.Insert(slices.Clone(v), 1, dir)...)
			code, out, errs := runArgs(t, nil, append(args, "-o", o)...)
			if v[0] == "export" && o == "json" {
				continue // standard output is the export itself
			}
			if v[0] == "transactions" {
				errs = strings.TrimPrefix(errs, "note: this spool holds no transactions\n")
			}
			if code != exitOK || errs != "" {
				t.Errorf("%v -o %s: exit %d, %s", v, o, code, errs)
			}
			if o == "json" && !json.Valid([]byte(out)) {
				t.Errorf("%v: not JSON: %s", v, out)
			}
		}
	}
}

// TestInspectChangesNothing runs every verb there is: a verb that is not in the list fails.
func TestInspectChangesNothing(t *testing.T) {
	dir := spoolOf(t)
	ran := map[string]bool{}
	before := snapshot(t, dir)
	for _, v := range verbs() {
		ran[v[0]] = true
		runArgs(t, nil, append([]string{"inspect", "--spool", dir}, v...)...)
		if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
			t.Fatalf("%v changed the spool:\n%s", v, diff)
		}
	}
	for _, c := range newInspect(newFactory(&ioStreams{}, nil)).Commands() {
		if !ran[c.Name()] && c.Name() != "pebble" && c.Name() != "diff" && c.Name() != "support" && c.Name() != "browse" { // which have tests of their own
			t.Errorf("inspect %s is not in verbs()", c.Name())
		}
	}
}

// TestInspectSupport writes an archive; the spool stays as it is.
func TestInspectSupport(t *testing.T) {
	dir, file := spoolOf(t), filepath.Join(t.TempDir(), "report.tar.gz")
	before := snapshot(t, dir)
	code, out, errs := runArgs(t, nil, "inspect", "support", "--redact", "--into", file, dir)
	if info, err := os.Stat(file); code != exitOK || err != nil || info.Size() < 1000 || !strings.Contains(out, "REDACTED  true") || errs != "" {
		t.Errorf("%d %v\n%s\n%s", code, err, out, errs)
	}
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("the spool changed:\n%s", diff)
	}
}

// TestInspectExport writes each form; a wrong command line writes nothing.
func TestInspectExport(t *testing.T) {
	dir, out := spoolOf(t), t.TempDir()
	export := func(args ...string) (int, string, string) {
		return runArgs(t, nil, append([]string{"inspect", "export", "--spool", dir}, args...)...)
	}
	file := filepath.Join(out, "all.spoolarc")
	code, text, errs := export("--everything", "--into", file)
	if code != exitOK || !strings.Contains(text, "ENTRIES   12") || errs != "" {
		t.Errorf("archive: %d\n%s\n%s", code, text, errs)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := archive.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) || r.Totals().Entries != 12 {
		t.Errorf("the archive reads as %+v, %v", r.Totals(), err)
	}
	code, text, errs = export("orders", "--form", "ndjson", "--into", "-")
	if code != exitOK || strings.Count(text, "\n") != 13 || errs != "" {
		t.Errorf("ndjson: %d\n%s\n%s", code, text, errs)
	}
	code, text, errs = export("orders", "--form", "files", "--into", filepath.Join(out, "files"))
	if code != exitOK || !strings.Contains(text, "MESSAGES  13") {
		t.Errorf("files: %d\n%s\n%s", code, text, errs)
	}
	for _, bad := range [][]string{{"--into", "-"}, {"orders"}, {"--everything", "orders", "--into", "-"}, {"orders", "--form", "files", "--into", "-"}, {"orders", "--into", "-", "--since", "1h"}} {
		if code, text, _ := export(bad...); code != exitUsage || text != "" {
			t.Errorf("%v: %d %q", bad, code, text)
		}
	}
	if code, _, errs := export("orders", "--form", "files", "--into", filepath.Join(out, "files")); code != exitFailed || !strings.Contains(errs, "not empty") {
		t.Errorf("again: %d %s", code, errs)
	}
}

// snapshot is what a folder holds: sizes, times, modes and contents by path.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if d.Type().IsRegular() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		out[path] = fmt.Sprintf("%v %d %v %x", info.Mode(), info.Size(), info.ModTime(), sha256.Sum256(data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
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
	dir := killedSpoolOf(t)
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
	_, errs, _ = strings.Cut(errs, "\n") // that records were replayed
	if err := json.Unmarshal([]byte(errs), &said); err != nil || code != exitProblems || said.Code != exitProblems || len(said.Details.Problems) < 2 || !json.Valid([]byte(out)) {
		t.Errorf("exit %d, %v\n%s\n%s", code, err, out, errs)
	}
	if code, _, _ = runArgs(t, nil, "inspect", "verify", dir); code != exitProblems {
		t.Errorf("verify: exit %d", code)
	}
}
