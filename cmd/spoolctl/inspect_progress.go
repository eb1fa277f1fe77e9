package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"spoolctl/format"
)

const (
	progressAfter = time.Second            // shorter work is not worth a line
	progressEvery = 200 * time.Millisecond // on a terminal
	progressLines = 10 * time.Second       // elsewhere
)

// progress tells on standard error how far a long scan is: a line that is
// drawn again on a terminal, lines every ten seconds elsewhere.
type progress struct {
	w         io.Writer
	now       func() time.Time
	terminal  bool
	what      string
	began     time.Time
	last      time.Time
	drawn     int // columns of the line that stands
	unitBytes bool
}

// progress returns nil where nothing is to be told.
func (o *inspectOptions) newProgress() *progress {
	f, ok := o.f.io.err.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd()))
	if !terminal && !o.progress {
		return nil
	}
	return &progress{w: o.f.io.err, now: o.f.now, terminal: terminal}
}

// report is called often; it writes rarely.
func (p *progress) report(what string, done, total int64) {
	if p == nil {
		return
	}
	now := p.now()
	if what != p.what {
		p.what, p.began, p.last = what, now, now
	}
	wait := progressLines
	if p.terminal {
		wait = progressEvery
	}
	if now.Sub(p.began) < progressAfter || now.Sub(p.last) < wait {
		return
	}
	p.last = now
	p.write(p.line(done, total, now.Sub(p.began)))
}

// line is how much is done, how fast, and how long it takes yet.
func (p *progress) line(done, total int64, took time.Duration) string {
	show := format.Count
	if p.unitBytes {
		show = format.Size
	}
	perSecond := float64(done) / took.Seconds()
	text := fmt.Sprintf("%s: %s", p.what, show(done))
	if total > 0 {
		text += fmt.Sprintf(" of %s (%d %%)", show(total), 100*done/total)
	}
	text += fmt.Sprintf(", %s/s", show(int64(perSecond)))
	if total > done && perSecond > 0 {
		left := time.Duration(float64(total-done) / perSecond * float64(time.Second))
		text += ", " + format.Duration(left.Round(time.Second)) + " left"
	}
	return text
}

func (p *progress) write(text string) {
	end := "\n"
	if p.terminal {
		end = strings.Repeat(" ", max(0, p.drawn-len(text))) + "\r"
		p.drawn = len(text)
	}
	_, _ = io.WriteString(p.w, text+end) // nobody to tell when it fails
}

// bytes makes the counts bytes.
func (p *progress) bytes(yes bool) {
	if p != nil {
		p.unitBytes = yes
	}
}

// end removes the line before results are printed.
func (p *progress) end() {
	if p != nil && p.drawn > 0 {
		p.write("")
		p.drawn = 0
	}
}
