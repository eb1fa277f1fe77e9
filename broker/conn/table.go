package conn

import "iter"

// table finds what a client made by the id it chose. Clients count from 0, so that a slice does for nearly all of them: with
// thousands of producers in turn, a map costs as much as the rest of the lookup. The zero value is ready.
type table[T any] struct {
	low  []*T // ids below lowIDs
	high map[uint64]*T
}

const lowIDs = 1 << 14

// get returns nil when there is nothing.
func (t *table[T]) get(id uint64) *T {
	if id < uint64(len(t.low)) {
		return t.low[id]
	}
	return t.high[id]
}

func (t *table[T]) set(id uint64, v *T) {
	if id >= lowIDs {
		if t.high == nil {
			t.high = make(map[uint64]*T)
		}
		t.high[id] = v
		return
	}
	for uint64(len(t.low)) <= id {
		t.low = append(t.low, nil)
	}
	t.low[id] = v
}

func (t *table[T]) delete(id uint64) {
	if id < uint64(len(t.low)) {
		t.low[id] = nil
	}
	delete(t.high, id)
}

// all goes over what is there, in no order.
func (t *table[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, v := range t.low {
			if v != nil && !yield(v) {
				return
			}
		}
		for _, v := range t.high {
			if !yield(v) {
				return
			}
		}
	}
}
