package inspect

import (
	"strings"

	"spoolctl/storage"
	"spoolctl/wire"
)

// progressEvery is how many entries are read between reports.
const progressEvery = 4096

// topicEntries reads all entries of a topic: each must be there, be what the
// producer sent, and count on from the one before it.
func (v *verifier) topicEntries(t *storage.TopicView) error {
	all := Bounds{}.span(t)
	for _, l := range t.Ledgers {
		if l.LocalDeleted { // its entries are elsewhere
			all.from = t.Ledgers.Normal(wire.Position{Ledger: l.ID + 1})
		}
	}
	if !all.from.Less(all.to) {
		return nil
	}
	w := &entryChecks{v: v, t: t}
	before := len(v.s.problems)
	err := v.s.walk(v.ctx, t, all.from, all.to, w.entry)
	if err != nil {
		return err
	}
	for _, p := range v.s.problems[before:] {
		v.add(Finding{Check: CheckEntries, Topic: t.Name, What: strings.TrimPrefix(p.String(), t.Name+": ")})
	}
	w.ledgerEnd()
	return nil
}

// entryChecks walks along the entries of one topic.
type entryChecks struct {
	v *verifier
	t *storage.TopicView

	ledger          *storage.Ledger
	next            int64 // entry id expected
	messages, bytes int64 // of the topic so far
	first, last     int64 // publish times in the ledger
	read            int64 // entries of the ledger
	gap             bool  // an entry before this one is missing
}

func (w *entryChecks) entry(e storage.Entry) (bool, error) {
	v, p := w.v, e.Position
	v.out.Entries++
	v.out.Messages += int64(e.Header.Messages)
	v.out.Bytes += int64(len(e.Data))
	if v.out.Entries%progressEvery == 0 {
		v.progress("entries", v.out.Entries, v.total)
	}
	if w.ledger == nil || w.ledger.ID != p.Ledger {
		w.ledgerEnd()
		w.ledgerBegin(p.Ledger)
	}
	w.gap = w.gap || p.Entry != w.next // walk has noted what is missing
	w.next = p.Entry + 1
	w.read++
	w.counts(e)
	w.first, w.last = min(w.first, e.Header.PublishTime), max(w.last, e.Header.PublishTime)
	w.content(e)
	return true, nil
}

func (w *entryChecks) ledgerBegin(id int64) {
	for _, l := range w.t.Ledgers {
		if l.ID == id {
			w.ledger = l
			w.messages, w.bytes = l.StartMessages, l.StartBytes
		}
	}
	w.next, w.read, w.gap = 0, 0, false
	w.first, w.last = 1<<62, 0
}

// ledgerEnd compares what was read with the ledger's record.
func (w *entryChecks) ledgerEnd() {
	l := w.ledger
	if l == nil || w.gap || w.read != l.Entries {
		return
	}
	at := wire.Position{Ledger: l.ID, Entry: l.Entries - 1}.String()
	if m, b := l.StartMessages+l.Messages, l.StartBytes+l.Bytes; w.messages != m || w.bytes != b {
		w.v.find(CheckLedgers, w.t.Name, at, "ledger %d ends at %d messages and %d bytes of the topic by its record, %d and %d by its entries", l.ID, m, b, w.messages, w.bytes)
	}
	if l.State.String() == "closed" && !w.v.s.source.Damaged && (l.FirstPublish != w.first || l.LastPublish != w.last) {
		w.v.find(CheckLedgers, w.t.Name, at, "ledger %d has publish times %d to %d by its record, %d to %d by its entries", l.ID, l.FirstPublish, l.LastPublish, w.first, w.last)
	}
}

// counts checks the cumulative counters of the header.
func (w *entryChecks) counts(e storage.Entry) {
	h := e.Header
	wantMessages, wantBytes := w.messages+int64(h.Messages), w.bytes+int64(len(e.Data))
	switch {
	case h.TotalMessages <= w.messages || h.TotalBytes < w.bytes:
		w.v.find(CheckEntries, w.t.Name, e.Position.String(), "the topic's counters go back: %d messages and %d bytes after %d and %d",
			h.TotalMessages, h.TotalBytes, w.messages, w.bytes)
	case !w.gap && (h.TotalMessages != wantMessages || h.TotalBytes != wantBytes):
		w.v.find(CheckEntries, w.t.Name, e.Position.String(), "the topic's counters say %d messages and %d bytes, %d and %d were expected",
			h.TotalMessages, h.TotalBytes, wantMessages, wantBytes)
	}
	w.messages, w.bytes = h.TotalMessages, h.TotalBytes
}

// content checks what the producer sent.
func (w *entryChecks) content(e storage.Entry) {
	at := e.Position.String()
	d := decodeEntry(e)
	if d.err != nil {
		w.v.find(CheckEntries, w.t.Name, at, "the entry is not what a producer sends: %s", firstLine(d.err))
		return
	}
	if err := d.parts.Verify(); err != nil {
		w.v.find(CheckEntries, w.t.Name, at, "%s", firstLine(err))
	}
	if n := d.meta.NumMessages; n != e.Header.Messages && !d.meta.HasMarker {
		w.v.find(CheckEntries, w.t.Name, at, "the header counts %d messages, the metadata %d", e.Header.Messages, n)
	}
	if ms := int64(d.meta.PublishTime); ms != e.Header.PublishTime {
		w.v.find(CheckEntries, w.t.Name, at, "the header's publish time is %d, the metadata's %d", e.Header.PublishTime, ms)
	}
}
