package browse_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"spoolctl/storage"
	"spoolctl/tui/browse"

	tea "github.com/charmbracelet/bubbletea"
)

var rewrite = flag.Bool("rewrite", false, "write what the tests got into testdata")

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (rewrite with -rewrite):\n%s\nwant\n%s", path, got, want)
	}
}

// toOrders are the keys from the first page to the topic orders.
const toOrders = "G<enter>"

func TestScreens(t *testing.T) {
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	dir := newSpool(t, sample)
	before := treeHash(t, dir)
	o := browse.Options{Session: openSession(t, dir), Dir: dir, WorkDir: t.TempDir()}
	uuid := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	for name, keys := range map[string]string{
		"topics":            "",
		"topics-folded":     "<enter>j",
		"topics-by-entries": "s",
		"topics-filtered":   "/ord<enter>",
		"wrong-filter":      "/or(",
		"topic":             toOrders,
		"ledgers":           toOrders + "<tab>j",
		"subscription":      toOrders + "j<enter>",
		"ranges-by-size":    toOrders + "j<enter>s",
		"pending":           toOrders + "jp",
		"messages":          toOrders + "m",
		"messages-end":      toOrders + "mG",
		"ledger-messages":   toOrders + "<tab>j<enter>",
		"hole-messages":     toOrders + "j<enter>j<enter>",
		"jump":              toOrders + "m:3:5<enter>",
		"jump-time":         toOrders + "m:2026-01-31T13:30:00Z<enter>",
		"wrong-jump":        toOrders + "m:foo<enter>",
		"find":              toOrders + `fr":1.}<enter>`,
		"found-nothing":     toOrders + "fnothing<enter>",
		"message":           toOrders + "m<enter>",
		"batch-message":     toOrders + "mjjjj<enter>",
		"evil-topic":        "jjj<enter>",
		"evil-messages":     "jjjm",
		"evil-message":      "jjjm<enter>",
		"empty":             "jj<enter>m",
		"spool":             "!",
		"help":              toOrders + "?",
	} {
		for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 120, Height: 40}} {
			s := screenOf(t, o, size.Width, size.Height).press(keys)
			golden(t, filepath.Join(testdata, fmt.Sprintf("%s-%dx%d.golden", name, size.Width, size.Height)), uuid.ReplaceAllString(s.view(), "ID"))
		}
	}
	if after := treeHash(t, dir); after != before {
		t.Errorf("the spool has changed:\n%s\nwas\n%s", after, before)
	}
}

// TestBack: esc drops the filter, then goes back; every page has a filter of its own.
func TestBack(t *testing.T) {
	s := newScreen(t, newSpool(t, sample), 80, 24).press("/orders<enter>" + "G<enter>/slow<enter>")
	s.shows("filter /slow", "› public/default/orders").lacks("billing").press("<esc>").lacks("filter /").shows("billing")
	s.press("<esc>").shows("filter /orders").lacks("acme").press("<esc>").shows("acme").press("<esc>").shows("acme")
	if s.press("q"); !s.quit {
		t.Error("q does not quit")
	}
}

// TestWrongKeys: what does not fit a page says why, and breaks nothing.
func TestWrongKeys(t *testing.T) {
	s := newScreen(t, newSpool(t, sample), 80, 24)
	s.press("f").shows("select a topic").press(":").shows("open the messages").press("xXz<tab> 129p").shows("orders")
	s.press("/<esc>f").press(toOrders + "m<enter>:f").shows("message 1:0")
	s.press("<esc>f"+strings.Repeat("long ", 20)+"end").shows("…long ", "long end").press("<esc>f<enter>").shows("1 of 140 read").press(":<enter>").shows("1 of 140 read").press("<ctrl+c>")
	if !s.quit {
		t.Error("ctrl+c does not quit")
	}
}

func TestResizeWithOverlay(t *testing.T) {
	dir := newSpool(t, sample)
	o := browse.Options{Session: openSession(t, dir), Dir: dir, WorkDir: t.TempDir()}
	for _, size := range []tea.WindowSizeMsg{{Width: 120, Height: 40}, {Width: 40, Height: 12}, {Width: 200, Height: 60}} {
		s := screenOf(t, o, 80, 24).press("?")
		s.width, s.height = size.Width, size.Height
		s.take(size)
		s.shows("Keys", "enter", "any other key").press("Gx").shows("topics")
	}
	for _, size := range []tea.WindowSizeMsg{{Width: 1, Height: 1}, {Width: 0, Height: 0}, {Width: 10, Height: 3}, {Width: 25, Height: 9}} {
		for _, keys := range []string{"", "?", toOrders, toOrders + "j<enter>", toOrders + "m", toOrders + "m<enter>", "!"} {
			s := screenOf(t, o, 80, 24).press(keys)
			s.width, s.height = size.Width, size.Height
			s.take(size)
			s.view()
		}
	}
}

// TestCopy: what is selected goes to the terminal in one sequence, whatever is in it.
func TestCopy(t *testing.T) {
	s := newScreen(t, newSpool(t, sample), 80, 24)
	s.press("Gy").shows("the name is copied")
	s.press("<enter>jy").press("m<enter>y").shows("the payload is copied, if the terminal takes it (OSC 52): 11 B")
	want := "\x1b]52;c;cGVyc2lzdGVudDovL3B1YmxpYy9kZWZhdWx0L29yZGVycw==\x07" + "\x1b]52;c;YmlsbGluZw==\x07" + "\x1b]52;c;eyJvcmRlciI6MH0=\x07"
	if got := s.out.String(); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

func TestExport(t *testing.T) {
	dir := newSpool(t, sample)
	for keys, want := range map[string]struct{ shown, total int }{
		"/shop<enter>e":                  {2, 3},
		toOrders + "e":                   {3, 3},
		toOrders + "<tab>e":              {3, 3},
		toOrders + "j<enter>e":           {10, 10},
		toOrders + "m:2:0<enter>e":       {84, 140},
		toOrders + `forder":1.}<enter>e`: {8, 8},
	} {
		s := newScreen(t, dir, 80, 24).press(keys).shows("exported to spoolctl-")
		if doc := s.exported(); len(doc.Items) != want.shown || doc.Total != want.total {
			t.Errorf("%s: %d of %d", keys, len(doc.Items), doc.Total)
		}
		s.press("e").shows("not exported", "exists")
		s.exported()
	}
}

// TestExportIntoSpool: a working directory inside the spool is refused, also by a link.
func TestExportIntoSpool(t *testing.T) {
	dir := newSpool(t, sample)
	before := treeHash(t, dir)
	link := filepath.Join(t.TempDir(), "link")
	inside, err := filepath.Abs(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(inside, link); err != nil {
		t.Fatal(err)
	}
	for _, work := range []string{dir, filepath.Join(dir, "store"), link} {
		s := screenOf(t, browse.Options{Session: openSession(t, dir), Dir: dir, WorkDir: work}, 80, 24)
		s.press("e").shows("not exported: the working directory is inside the spool")
	}
	if treeHash(t, dir) != before {
		t.Error("the spool has changed")
	}
}

// TestRunEnds: the program ends with its context and when asked to, and gives the terminal and the session back.
func TestRunEnds(t *testing.T) {
	dir := newSpool(t, sample)
	var out bytes.Buffer
	o := browse.Options{Session: openSession(t, dir), Dir: dir, WorkDir: t.TempDir(), Now: now, In: strings.NewReader("q"), Out: &out}
	if err := browse.Run(t.Context(), o); err != nil {
		t.Errorf("q: %v", err)
	}
	const leave, cursor = "\x1b[?1049l", "\x1b[?25h"
	if !strings.Contains(out.String(), leave) || !strings.Contains(out.String(), cursor) {
		t.Errorf("the terminal is not restored: %q", out.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, write := io.Pipe()
	defer write.Close()
	o.Session, o.In, o.Out = openSession(t, dir), in, &bytes.Buffer{}
	if err := browse.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestAnyKeys: no sequence of keys breaks a screen's promises or writes anywhere.
func TestAnyKeys(t *testing.T) {
	dir := newSpool(t, sample)
	before := treeHash(t, dir)
	named := []string{"<enter>", "<enter>", "<enter>", "<esc>", "<esc>", "<tab>", "<up>", "<down>", "<pgdown>", "<pgup>", "<home>", "<end>", "<back>"}
	letters := "fmpmp:/sSye!?jkjkgG12o{( "
	random := rand.New(rand.NewPCG(1, 2))
	s := screenOf(t, browse.Options{Session: openSession(t, dir), Dir: dir, WorkDir: t.TempDir()}, 80, 24)
	for range 1500 {
		switch random.IntN(20) {
		case 0:
			s.width, s.height = 1+random.IntN(130), 8+random.IntN(40)
			s.take(tea.WindowSizeMsg{Width: s.width, Height: s.height})
		case 1, 2, 3, 4, 5, 6, 7, 8:
			s.press(named[random.IntN(len(named))])
		default:
			s.press(letters[random.IntN(len(letters)):][:1])
		}
		if s.view(); t.Failed() {
			return
		}
	}
	if treeHash(t, dir) != before {
		t.Error("the spool has changed")
	}
}

// TestWithoutTopics: tenants and namespaces that have no topics are in the tree, but nothing to a filter.
func TestWithoutTopics(t *testing.T) {
	dir := newSpool(t, func(m maker) {
		for _, r := range []struct {
			kind storage.Kind
			path string
		}{{storage.KindTenant, "idle"}, {storage.KindTenant, "shop"}, {storage.KindNamespace, "shop/spare"}} {
			if err := m.PutResource(context.Background(), r.kind, r.path, struct{}{}); err != nil {
				t.Fatal(err)
			}
		}
		m.topic("shop/used/orders")
	})
	s := newScreen(t, dir, 80, 24).shows("▾ idle", "▾ shop", "▾ spare", "▾ used", "orders")
	s.press("j<enter>").lacks("spare").press("<enter>/or<enter>").shows("orders").lacks("idle", "spare")
}
