package storage

import (
	"iter"
	"slices"
	"sort"

	"spoolctl/storage/record"
	"spoolctl/wire"
)

// Ledger is a ledger with its id and extents. Entries counts what is confirmed, also while the ledger is open.
type Ledger struct {
	ID int64
	record.Ledger
	Extents []record.Extent // by rising first entry; contiguous. An open topic has parts instead

	parts  []part
	unread bool // the extents are not read yet; see Spool.Brief
}

// part is what an open topic remembers of an extent: many topics that fill slowly have many extents.
type part struct {
	first       int64 // entry id; a part ends where the next one begins, the last one with the ledger
	epoch       uint64
	lastPublish int64 // as in record.Extent
}

// slim turns extents into parts.
func (l *Ledger) slim() {
	l.parts = make([]part, len(l.Extents))
	for i, x := range l.Extents {
		l.parts[i] = part{x.First, x.Epoch, x.LastPublish}
	}
	l.Extents = nil
}

// end is the position after the ledger's last confirmed entry.
func (l *Ledger) end() wire.Position { return wire.Position{Ledger: l.ID, Entry: l.Entries} }

// Ledgers is the list of a topic's ledgers by rising id. A topic always has at least one; only the last may be open.
// The methods are pure: callers hold whatever lock guards the list.
type Ledgers []*Ledger

// find returns the index of the first ledger with an id of at least id.
func (ls Ledgers) find(id int64) int {
	return sort.Search(len(ls), func(i int) bool { return ls[i].ID >= id })
}

// byID returns the ledger with that id, or nil.
func (ls Ledgers) byID(id int64) *Ledger {
	if i := ls.find(id); i < len(ls) && ls[i].ID == id {
		return ls[i]
	}
	return nil
}

func (ls Ledgers) last() *Ledger { return ls[len(ls)-1] }

// Normal returns the smallest position >= p at which an entry is stored or will be: an entry inside a ledger, or the
// place after the last entry of the last ledger.
func (ls Ledgers) Normal(p wire.Position) wire.Position {
	i := ls.find(p.Ledger)
	if i == len(ls) {
		return ls.last().end()
	}
	if ls[i].ID > p.Ledger || p.Entry < 0 {
		p = wire.Position{Ledger: ls[i].ID}
	}
	for p.Entry >= ls[i].Entries {
		if i == len(ls)-1 {
			return ls[i].end()
		}
		i++
		p = wire.Position{Ledger: ls[i].ID}
	}
	return p
}

// Next returns the normal position after p.
func (ls Ledgers) Next(p wire.Position) wire.Position {
	if p.Entry < 1<<62 {
		p.Entry++
	}
	return ls.Normal(p)
}

// Prev returns the position of the last entry before p, or {first ledger, -1} when there is none. It is the form that
// mark-delete positions have.
func (ls Ledgers) Prev(p wire.Position) wire.Position {
	p = ls.Normal(p)
	if p.Entry > 0 {
		return wire.Position{Ledger: p.Ledger, Entry: p.Entry - 1}
	}
	for i := ls.find(p.Ledger) - 1; i >= 0; i-- {
		if ls[i].Entries > 0 {
			return wire.Position{Ledger: ls[i].ID, Entry: ls[i].Entries - 1}
		}
	}
	return wire.Position{Ledger: ls[0].ID, Entry: -1}
}

// First returns the normal position of the first stored entry.
func (ls Ledgers) First() wire.Position { return ls.Normal(wire.Earliest()) }

// LastConfirmed returns the position of the last stored entry, or {first ledger, -1} when none is stored.
func (ls Ledgers) LastConfirmed() wire.Position { return ls.Prev(ls.last().end()) }

// Has reports whether an entry is stored at p.
func (ls Ledgers) Has(p wire.Position) bool {
	l := ls.byID(p.Ledger)
	return l != nil && p.Entry >= 0 && p.Entry < l.Entries
}

// Index returns how many entries the topic ever had up to and including p, counting from the topic's creation.
// Positions before the first ledger or beyond the last entry are taken as the nearest end.
func (ls Ledgers) Index(p wire.Position) int64 {
	i := ls.find(p.Ledger)
	if i == len(ls) {
		return ls.last().StartEntries + ls.last().Entries
	}
	if ls[i].ID > p.Ledger {
		return ls[i].StartEntries
	}
	return ls[i].StartEntries + min(max(p.Entry+1, 0), ls[i].Entries)
}

// Totals are counts of a topic since its creation.
type Totals struct{ Entries, Messages, Bytes int64 }

// End returns the totals up to the last entry.
func (ls Ledgers) End() Totals {
	l := ls.last()
	return Totals{l.StartEntries + l.Entries, l.StartMessages + l.Messages, l.StartBytes + l.Bytes}
}

// Start returns the totals before the first stored entry: what was trimmed.
func (ls Ledgers) Start() Totals {
	return Totals{ls[0].StartEntries, ls[0].StartMessages, ls[0].StartBytes}
}

// partAt returns the part that holds a stored entry and the entry id after it, or false.
func (l *Ledger) partAt(entry int64) (p part, end int64, ok bool) {
	if l.parts == nil {
		i := sort.Search(len(l.Extents), func(i int) bool { return l.Extents[i].End() > entry })
		if i == len(l.Extents) || l.Extents[i].First > entry {
			return part{}, 0, false
		}
		x := &l.Extents[i]
		return part{x.First, x.Epoch, x.LastPublish}, x.End(), true
	}
	i := sort.Search(len(l.parts), func(i int) bool { return l.parts[i].first > entry })
	if i == 0 || entry >= l.Entries {
		return part{}, 0, false
	}
	end = l.Entries
	if i < len(l.parts) {
		end = l.parts[i].first
	}
	return l.parts[i-1], end, true
}

// lostFrom returns the first run of lost entries that does not end before the entry, or false.
func (l *Ledger) lostFrom(entry int64) (record.Run, bool) {
	i := sort.Search(len(l.Lost), func(i int) bool { return l.Lost[i].Last >= entry })
	if i == len(l.Lost) {
		return record.Run{}, false
	}
	return l.Lost[i], true
}

// lost reports whether the entry is known to be lost.
func (l *Ledger) lost(entry int64) bool {
	r, ok := l.lostFrom(entry)
	return ok && r.First <= entry
}

// lostUpTo returns the last entry of the run of lost entries that p is in, or p and false.
func (ls Ledgers) lostUpTo(p wire.Position) (wire.Position, bool) {
	l := ls.byID(p.Ledger)
	if l == nil || !l.lost(p.Entry) {
		return p, false
	}
	r, _ := l.lostFrom(p.Entry)
	return wire.Position{Ledger: p.Ledger, Entry: r.Last}, true
}

// anyLost reports whether entries are known to be lost.
func (ls Ledgers) anyLost() bool {
	return slices.ContainsFunc(ls, func(l *Ledger) bool { return len(l.Lost) > 0 })
}

// epochs lists the epochs that hold entries of the ledger.
func (l *Ledger) epochs() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, x := range l.Extents {
			if !yield(x.Epoch) {
				return
			}
		}
		for _, p := range l.parts {
			if !yield(p.epoch) {
				return
			}
		}
	}
}

// grow notes that entries from first on are stored in epoch, and returns the part they belong to.
func (l *Ledger) grow(epoch uint64, first int64) *part {
	if n := len(l.parts); n == 0 || l.parts[n-1].epoch != epoch {
		if n == cap(l.parts) {
			l.parts = append(make([]part, 0, n+n/8+4), l.parts...) // there are many that grow rarely: no room to spare
		}
		l.parts = append(l.parts, part{first: first, epoch: epoch})
	}
	return &l.parts[len(l.parts)-1]
}
