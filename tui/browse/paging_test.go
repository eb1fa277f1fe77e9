package browse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spoolctl/inspect"
	"spoolctl/storage"
	"spoolctl/tui/browse"
	"spoolctl/wire"
)

// long is a topic of many ledgers with batches and chunked messages all over it, behind another topic's ledgers.
func long(m maker) {
	m.topic("first").one("x", "")
	tp := m.topic("long")
	var acks []storage.Ack
	for i := range 450 {
		switch {
		case i%97 == 50:
			tp.chunked(fmt.Sprint("u", i), fmt.Sprintf("chunked-%d ", i), "and ", "more")
		case i%7 == 3:
			tp.batch(fmt.Sprintf("m%d-a", i), fmt.Sprintf("m%d-b", i))
		default:
			if tp.one(fmt.Sprintf("m%d", i), ""); i%3 != 0 {
				acks = append(acks, storage.Ack{Position: tp.pos[len(tp.pos)-1]})
			}
		}
	}
	tp.cursor("holes", acks...)
}

// idsOf are the messages' ids as inspect messages lists them.
func idsOf(t *testing.T, dir, pending string) (ids []string) {
	t.Helper()
	s := openSession(t, dir)
	list, err := s.Messages(t.Context(), inspect.MessagesOptions{Selector: inspect.Selector{Globs: []string{"long"}}, Pending: pending})
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range list.Rows {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	return ids
}

// TestPaging: going down to the end and up again shows every message once, in the order of inspect messages, and what is
// pending in the order in which it would be delivered.
func TestPaging(t *testing.T) {
	dir := newSpool(t, long)
	for keys, pending := range map[string]string{"jjj<enter>m": "", "jjj<enter>p": "holes"} {
		want := idsOf(t, dir, pending)
		if len(want) < 210 {
			t.Fatalf("only %d messages", len(want))
		}
		s := newScreen(t, dir, 80, 24).press(keys)
		var down []string
		for range want {
			down = append(down, s.under())
			s.press("j")
		}
		if !slices.Equal(down, want) {
			t.Errorf("%s down: %d of %d\n%v\nwant\n%v", keys, len(down), len(want), down, want)
		}
		s.shows("this is the last message")
		var up []string
		for range want {
			up = append(up, s.under())
			s.press("k")
		}
		slices.Reverse(up)
		if !slices.Equal(up, want) {
			t.Errorf("%s up: %d of %d\n%v\nwant\n%v", keys, len(up), len(want), up, want)
		}
		if s.press("G").under() != want[len(want)-1] || s.press("g").under() != want[0] {
			t.Errorf("%s: G and g do not go to the ends", keys)
		}
	}
}

// under is the id of the message under the cursor: what a copy takes.
func (s *screen) under() string {
	s.Helper()
	s.out.Reset()
	s.press("y")
	return s.clipboard()
}

// TestJump: a position, a time and the ends; beyond them nothing is shown, and the way back is.
func TestJump(t *testing.T) {
	dir := newSpool(t, long)
	want := idsOf(t, dir, "")
	s := newScreen(t, dir, 80, 24).press("jjj<enter>m")
	for place, id := range map[string]string{
		"latest": want[len(want)-1], "earliest": want[0], "2:0": want[0], "0:0": want[0], "4:39": "4:39", "3:40": "4:0",
		"2026-01-31T13:00:00Z": "3:20", "1w": want[0],
	} {
		if got := s.press(":" + place + "<enter>").under(); got != id {
			t.Errorf("%s: at %s, want %s", place, got, id)
		}
	}
	for _, place := range []string{"999:0", "2030-01-01"} {
		s.press(":" + place + "<enter>").shows("no messages from here on")
		if got := s.press("k").under(); got != want[len(want)-1] {
			t.Errorf("%s and back: at %s", place, got)
		}
	}
}

// TestFind: all that inspect messages --grep finds, a part at a time.
func TestFind(t *testing.T) {
	dir := newSpool(t, long)
	s := newScreen(t, dir, 80, 24).press("jjjfchunked.*more<enter>").shows("long › find: chunked.*more", "1 of 5 found in all 514 messages", "chunked-50 and more")
	s.press("fchunked<enter>").shows("› find: chunked").lacks("more ›").press("!!").shows("find: chunked › spool").lacks("spool › spool").press("<esc>")
	s.press("<enter>").shows("CHUNKS", "chunked-50 and more").press("<esc>/147<enter>").shows("chunked-147").lacks("chunked-50 ")
	s.press("<esc><esc>jjjf^m<enter>").shows("of 200 found in", "↓ at the end goes on")
	first := s.under()
	if s.press("Gj").shows("of 200 found in").under() == first {
		t.Error("the search does not go on")
	}
	if got := s.press("g").under(); got != first {
		t.Errorf("home is %s, want %s", got, first)
	}
	s.press(":3:0<enter>").shows("a search cannot jump")
}

// TestStopSearch: esc stops a search between two of its steps; what was found stays, and a second esc leaves.
func TestStopSearch(t *testing.T) {
	dir := newSpool(t, func(m maker) {
		tp := m.topic("t")
		for i := range 300 {
			tp.batch(slices.Repeat([]string{fmt.Sprintf("%d needle", i%2)}, 3)...)
		}
	})
	s := screenOf(t, browse.Options{Session: openSession(t, dir), Dir: dir, WorkDir: t.TempDir(), Step: time.Nanosecond}, 80, 24).press("jj")
	s.press("fneedle")
	s.take(enter())
	for range 200 {
		if s.step(); strings.Contains(s.view(), "searching: ") && strings.Contains(s.view(), "found 5") {
			break
		}
	}
	s.shows("searching: 5 of 900 messages (0 %), found 5; esc stops", "needle")
	s.take(esc())
	s.settle()
	s.shows("stopped", "needle", "t › find: needle")
	s.press("x").shows("1 of 5 found in 5 of 900 messages; ↓ at the end goes on")
	s.press("<esc>").lacks("find: needle")
}

// TestLeaving: an answer that comes after its page was left changes nothing.
func TestLeaving(t *testing.T) {
	s := newScreen(t, newSpool(t, sample), 80, 24)
	s.press("G")
	s.take(enter())
	s.shows("reading …", "reading ledgers and subscriptions")
	s.take(esc())
	s.shows("topics", "acme")
	s.settle()
	s.shows("acme", "140").lacks("SUBSCRIPTION")
}

// TestDamaged: what cannot be read is said on every page, and listed; what can be read is shown.
func TestDamaged(t *testing.T) {
	dir := newSpool(t, func(m maker) {
		tp := m.topic("t")
		for i := range 200 {
			tp.one(strings.Repeat(fmt.Sprintf("%04d", i*7919%10007), 500), "")
		}
		tp.cursor("s", storage.Ack{Position: wire.Position{Ledger: 1}})
	})
	tables, err := filepath.Glob(filepath.Join(dir, "store", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	largest := slices.MaxFunc(tables, func(a, b string) int { return int(size(t, a) - size(t, b)) })
	data, err := os.ReadFile(largest)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 0x55
	if err := os.WriteFile(largest, data, 0o600); err != nil {
		t.Fatal(err)
	}
	before := treeHash(t, dir)
	s := newScreen(t, dir, 80, 24).press("jj<enter>m").press(":4:0<enter>").press("G").press("g")
	s.shows("could not be read (! shows all): ", "● not all readable").press("!").shows("could not be read so far", filepath.Base(largest), "inspect verify")
	s.press("<esc><enter>").shows("PAYLOAD", "could not be read (! shows all): ")
	if treeHash(t, dir) != before {
		t.Error("the spool has changed")
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
