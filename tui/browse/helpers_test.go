package browse_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"spoolctl/inspect"
	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/tui/browse"
	"spoolctl/wire"
	"spoolctl/wire/pb"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// base is the moment at which sample spools are made, now that of every look at them.
func base() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }
func now() time.Time  { return base().Add(24 * time.Hour) }

// sink hands over where entries were stored.
type sink chan storage.Appended

// Committed implements storage.Sink.
func (s sink) Committed(entries []storage.Appended, err error) {
	for _, e := range entries {
		if err != nil {
			e.Position = wire.Earliest()
		}
		s <- e
	}
}

// maker builds a spool by way of package storage.
type maker struct {
	testing.TB
	*storage.Store
	dir string
}

// topic publishes to one topic.
type topic struct {
	maker
	*storage.Topic
	stored sink
	pos    []wire.Position
}

// newSpool makes the folder spool in a working directory of its own.
func newSpool(t testing.TB, fill func(maker)) (dir string) {
	t.Helper()
	t.Chdir(t.TempDir())
	dir = "spool"
	s, err := storage.Open(context.Background(), storage.Options{Dir: dir, Now: base, Ledger: storage.LedgerLimits{MaxEntries: 40}})
	if err != nil {
		t.Fatal(err)
	}
	fill(maker{t, s, dir})
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (m maker) topic(name string) *topic {
	m.Helper()
	n, err := wire.ParseTopic(name)
	if err != nil {
		m.Fatal(err)
	}
	stored := make(sink, 1)
	tp, err := m.CreateTopic(context.Background(), n, storage.TopicOptions{Sink: stored})
	if err != nil {
		m.Fatal(err)
	}
	tp.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
	return &topic{maker: m, Topic: tp, stored: stored}
}

// meta is the metadata of the next entry.
func (t *topic) meta() *pb.MessageMetadata {
	n := len(t.pos)
	return &pb.MessageMetadata{ProducerName: proto.String("shop"), SequenceId: proto.Uint64(uint64(n)),
		PublishTime: proto.Uint64(uint64(base().Add(time.Duration(n) * time.Minute).UnixMilli()))}
}

func (t *topic) append(meta *pb.MessageMetadata, payload []byte, messages int32) {
	t.Helper()
	err := t.Append(storage.Append{Data: wire.BuildEntry(meta, payload), PublishTime: int64(meta.GetPublishTime()), Messages: messages, Checksum: record.ChecksumVerified})
	if err != nil {
		t.Fatal(err)
	}
	t.pos = append(t.pos, (<-t.stored).Position)
}

func (t *topic) one(payload, key string, properties ...string) {
	meta := t.meta()
	if key != "" {
		meta.PartitionKey = &key
	}
	for i := 0; i+1 < len(properties); i += 2 {
		meta.Properties = append(meta.Properties, &pb.KeyValue{Key: &properties[i], Value: &properties[i+1]})
	}
	t.append(meta, []byte(payload), 1)
}

func (t *topic) batch(payloads ...string) {
	meta := t.meta()
	meta.NumMessagesInBatch = proto.Int32(int32(len(payloads)))
	var body []byte
	for i, p := range payloads {
		body = wire.AppendSingle(body, &pb.SingleMessageMetadata{PartitionKey: proto.String(fmt.Sprintf("k%d", i))}, []byte(p))
	}
	t.append(meta, body, int32(len(payloads)))
}

// chunked publishes one message in several entries.
func (t *topic) chunked(id string, chunks ...string) {
	for i, c := range chunks {
		meta := t.meta()
		meta.Uuid, meta.ChunkId, meta.NumChunksFromMsg = &id, proto.Int32(int32(i)), proto.Int32(int32(len(chunks)))
		meta.TotalChunkMsgSize = proto.Int32(int32(len(strings.Join(chunks, ""))))
		t.append(meta, []byte(c), 1)
	}
}

func (t *topic) cursor(name string, acks ...storage.Ack) {
	t.Helper()
	c, err := t.CreateCursor(context.Background(), storage.CursorOptions{Name: name, MarkDelete: wire.Earliest(), Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(acks) == 0 {
		return
	}
	done := make(chan error, 1)
	if err := c.Ack(acks, func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// sample has what the pages have to show, and names and payloads that try to steer the terminal.
func sample(m maker) {
	ctx := context.Background()
	for path, v := range map[string]any{"public": storage.Tenant{Created: base()}, "acme": storage.Tenant{Created: base()}} {
		if err := m.PutResource(ctx, storage.KindTenant, path, v); err != nil {
			m.Fatal(err)
		}
	}
	orders := m.topic("orders")
	for i := range 100 {
		if i%5 == 4 {
			orders.batch(fmt.Sprintf("b%d-0", i), fmt.Sprintf("b%d-1", i), fmt.Sprintf("b%d-2", i))
			continue
		}
		orders.one(fmt.Sprintf(`{"order":%d}`, i), fmt.Sprintf("key-%d", i%3), "color", []string{"red", "blue"}[i%2])
	}
	p := orders.pos
	orders.cursor("billing", storage.Ack{Position: p[0]}, storage.Ack{Position: p[1]}, storage.Ack{Position: p[3]}, storage.Ack{Position: p[7]},
		storage.Ack{Position: p[8]}, storage.Ack{Position: p[9], Remaining: []uint64{0b101}}, storage.Ack{Position: p[50]})
	orders.cursor("slow")
	var all []storage.Ack
	for _, at := range p {
		all = append(all, storage.Ack{Position: at})
	}
	orders.cursor("audit", all...)
	evil := m.topic("acme/shop/注文受付の長い名前")
	evil.one("a\x1b[31mred\x07\u202e", "k\x1b]0;title\x07", "p\x1b[2J", "v\r\n\x9b31m")
	evil.one("line one\n\tline two\x00", "")
	evil.cursor("sub\x1b[31m")
	m.topic("acme/shop/empty")
}

func openSession(t testing.TB, dir string) *inspect.Session {
	t.Helper()
	s, err := inspect.Open(context.Background(), inspect.Options{Dir: dir, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// screen runs the explorer without a terminal: commands one after the other, until there are none.
type screen struct {
	testing.TB
	model  tea.Model
	out    bytes.Buffer
	work   string
	width  int
	height int
	queue  []tea.Cmd
	quit   bool
}

func newScreen(t testing.TB, dir string, width, height int) *screen {
	return screenOf(t, browse.Options{Session: openSession(t, dir), Dir: dir, WorkDir: t.TempDir()}, width, height)
}

func screenOf(t testing.TB, o browse.Options, width, height int) *screen {
	s := &screen{TB: t, work: o.WorkDir, width: width, height: height}
	o.Now, o.Out = now, &s.out
	if o.Step == 0 {
		o.Step = 5 * time.Millisecond
	}
	s.model = browse.New(t.Context(), o)
	s.queue = []tea.Cmd{s.model.Init()}
	s.take(tea.WindowSizeMsg{Width: width, Height: height})
	s.settle()
	return s
}

// take gives the explorer a message and does not wait for what comes of it.
func (s *screen) take(msg tea.Msg) {
	m, cmd := s.model.Update(msg)
	s.model = m
	s.queue = append(s.queue, cmd)
}

// step runs the next command.
func (s *screen) step() {
	cmd := s.queue[0]
	s.queue = s.queue[1:]
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		s.queue = append(s.queue, msg...)
	case tea.QuitMsg:
		s.quit = true
	default:
		s.take(msg)
	}
}

func (s *screen) settle() {
	for len(s.queue) > 0 {
		s.step()
	}
}

// press types keys, words of more than one letter in angle brackets, and waits after each.
func (s *screen) press(text string) *screen {
	named := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "pgdown": tea.KeyPgDown,
		"pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd, "back": tea.KeyBackspace, "ctrl+c": tea.KeyCtrlC}
	for text != "" {
		if name, rest, ok := strings.Cut(text, ">"); ok && text[0] == '<' {
			s.take(tea.KeyMsg{Type: named[name[1:]]})
			text = rest
		} else {
			s.take(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text[:1])})
			text = text[1:]
		}
		s.settle()
	}
	return s
}

// view is what is on the screen; it keeps the promises that every screen keeps.
func (s *screen) view() string {
	s.Helper()
	view := s.model.View()
	lines := strings.Split(view, "\n")
	if len(lines) != max(s.height, 8) {
		s.Errorf("%d lines on a screen of %d", len(lines), s.height)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > s.width {
			s.Errorf("%d cells on a screen of %d: %q", w, s.width, l)
		}
		if strings.ContainsAny(l, "\x1b\x07\r\x00\u009b\u202e") || !utf8.ValidString(l) {
			s.Errorf("a control character reached the screen: %q", l)
		}
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// shows fails unless all the texts are on the screen.
func (s *screen) shows(texts ...string) *screen {
	s.Helper()
	view := s.view()
	for _, t := range texts {
		if !strings.Contains(view, t) {
			s.Errorf("%q is not on the screen:\n%s", t, view)
		}
	}
	return s
}

func (s *screen) lacks(texts ...string) *screen {
	s.Helper()
	view := s.view()
	for _, t := range texts {
		if strings.Contains(view, t) {
			s.Errorf("%q is on the screen:\n%s", t, view)
		}
	}
	return s
}

// treeHash is a digest of a folder: names, modes, sizes, times and contents.
func treeHash(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v %d %d", path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(data))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// exported reads the only export that was made.
func (s *screen) exported() (doc struct {
	Items []map[string]any
	Total int
	Shown int
}) {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.work, "*.json"))
	if err != nil || len(files) != 1 {
		s.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		s.Fatal(err)
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		s.Fatalf("%v\n%s", err, b)
	}
	return doc
}

func enter() tea.Msg { return tea.KeyMsg{Type: tea.KeyEnter} }
func esc() tea.Msg   { return tea.KeyMsg{Type: tea.KeyEsc} }

// clipboard is what the last copy put there.
func (s *screen) clipboard() string {
	s.Helper()
	code := strings.TrimSuffix(strings.TrimPrefix(s.out.String(), "\x1b]52;c;"), "\x07")
	b, err := base64.StdEncoding.DecodeString(code)
	if err != nil {
		s.Fatalf("%v: %q", err, s.out.String())
	}
	return string(b)
}
