package inspect

import (
	"encoding/binary"
	"strings"

	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// compacted checks the entries that topic compaction has kept: they stand in
// ledgers of their own, behind the positions that they had in the topic.
func (v *verifier) compacted() error {
	if v.o.Fast {
		return nil
	}
	return v.eachReadable((*storage.Spool).Topic, func(t *storage.TopicView) error {
		for _, l := range t.Compacted {
			if err := v.compactedLedger(t, l); err != nil {
				return err
			}
		}
		return nil
	})
}

func (v *verifier) compactedLedger(t *storage.TopicView, l *storage.Ledger) error {
	v.out.Ledgers++
	alone := *t // with the one ledger, which is read as any other
	alone.Ledgers = storage.Ledgers{l}
	w := &compactedChecks{entryChecks: entryChecks{v: v, t: t}, ledger: l, at: wire.Earliest()}
	before := len(v.s.problems)
	if err := v.s.walk(v.ctx, &alone, wire.Position{Ledger: l.ID}, wire.Position{Ledger: l.ID, Entry: l.Entries}, w.entry); err != nil {
		return err
	}
	for _, p := range v.s.problems[before:] {
		v.add(Finding{Check: CheckEntries, Topic: t.Name, What: "compacted: " + strings.TrimPrefix(p.String(), t.Name+": ")})
	}
	if w.read == l.Entries && l.State == record.LedgerClosed && !v.s.source.Damaged && (w.messages != l.Messages || w.bytes != l.Bytes) {
		v.find(CheckLedgers, t.Name, wire.Position{Ledger: l.ID, Entry: -1}.String(), "the compacted ledger %d has %d messages and %d bytes by its record, %d and %d by its entries",
			l.ID, l.Messages, l.Bytes, w.messages, w.bytes)
	}
	return nil
}

// compactedChecks walks along the entries of one compacted ledger.
type compactedChecks struct {
	entryChecks
	ledger *storage.Ledger
	at     wire.Position // of the entry before, as the topic had it
}

const positionLen = 16 // ledger and entry, before each compacted entry

func (w *compactedChecks) entry(e storage.Entry) (bool, error) {
	w.v.out.Compacted++
	w.read++
	w.messages += int64(e.Header.Messages)
	w.bytes += int64(len(e.Data))
	if len(e.Data) < positionLen {
		w.v.find(CheckEntries, w.t.Name, e.Position.String(), "compacted: the entry is too short for the position that it had")
		return true, nil
	}
	at := wire.Position{Ledger: int64(binary.BigEndian.Uint64(e.Data)), Entry: int64(binary.BigEndian.Uint64(e.Data[8:]))}
	if !w.at.Less(at) {
		w.v.find(CheckEntries, w.t.Name, e.Position.String(), "compacted: the entry that was at %s stands behind that of %s", at, w.at)
	}
	w.at, e.Data = at, e.Data[positionLen:]
	w.content(e)
	return true, nil
}
