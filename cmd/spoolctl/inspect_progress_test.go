package main

import (
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	var b strings.Builder
	now := time.Unix(0, 0)
	p := &progress{w: &b, now: func() time.Time { return now }}
	p.report("entries", 0, 1000)
	now = now.Add(5 * time.Second)
	p.report("entries", 250, 1000) // too early for a line
	now = now.Add(5 * time.Second)
	p.report("entries", 500, 1000)
	p.end()
	if want := "entries: 500 of 1,000 (50 %), 50/s, 10s left\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	b.Reset()
	p = &progress{w: &b, now: func() time.Time { return now }, terminal: true, unitBytes: true}
	p.report("bytes", 0, 4<<20)
	now = now.Add(2 * time.Second)
	p.report("bytes", 2<<20, 4<<20)
	p.end()
	if s := b.String(); !strings.HasPrefix(s, "bytes: 2.0 MiB of 4.0 MiB (50 %), 1.0 MiB/s, 2s left\r") || !strings.HasSuffix(s, " \r") {
		t.Errorf("%q", s)
	}
	var none *progress
	none.report("x", 1, 1)
	none.end()
}
