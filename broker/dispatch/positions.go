package dispatch

import (
	"iter"

	"github.com/RaduBerinde/btreemap"

	"spoolctl/wire"
)

// positions is an ordered map keyed by position.
type positions[V any] struct {
	tree *btreemap.BTreeMap[wire.Position, V]
}

func newPositions[V any]() *positions[V] {
	return &positions[V]{tree: btreemap.New[wire.Position, V](32, wire.Position.Compare)}
}

func (s *positions[V]) put(p wire.Position, v V) { s.tree.ReplaceOrInsert(p, v) }

func (s *positions[V]) delete(p wire.Position) (V, bool) {
	_, v, ok := s.tree.Delete(p)
	return v, ok
}

func (s *positions[V]) get(p wire.Position) (V, bool) {
	_, v, ok := s.tree.Get(p)
	return v, ok
}

func (s *positions[V]) has(p wire.Position) bool { return s.tree.Has(p) }

func (s *positions[V]) len() int { return s.tree.Len() }

func (s *positions[V]) clear() { s.tree.Clear(false) }

// all walks in order; the set must not be changed meanwhile.
func (s *positions[V]) all() iter.Seq2[wire.Position, V] {
	return s.tree.Ascend(btreemap.Min[wire.Position](), btreemap.Max[wire.Position]())
}

// run gives the first n positions that follow each other without a gap in one ledger,
// so that they can be had with one read.
func (s *positions[V]) run(n int, dst []wire.Position) []wire.Position {
	for p := range s.all() {
		if len(dst) >= n || (len(dst) > 0 && !follows(dst[len(dst)-1], p)) {
			break
		}
		dst = append(dst, p)
	}
	return dst
}

// follows says whether q is the entry after p in the same ledger.
func follows(p, q wire.Position) bool { return q.Ledger == p.Ledger && q.Entry == p.Entry+1 }

// after is the place where reading goes on behind p.
func after(p wire.Position) wire.Position { return wire.Position{Ledger: p.Ledger, Entry: p.Entry + 1} }
