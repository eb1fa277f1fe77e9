package key_test

import (
	"bytes"
	"testing"

	"spoolctl/storage/key"

	"pgregory.net/rapid"
)

// TestRoundTrip builds keys of every family from random parts and parses them back.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := func(n string) uint64 { return rapid.Uint64().Draw(t, n) }
		i := func(n string) int64 { return rapid.Int64Min(0).Draw(t, n) }
		a, b, l, e := u("a"), u("b"), i("ledger"), i("entry")
		name := rapid.StringN(1, 40, 100).Draw(t, "name")

		epoch, l2, e2, err := key.ParseEntry(key.ForEntry(a, l, e))
		same(t, err, epoch == a && l2 == l && e2 == e)
		topic, err := key.ParseTopic(key.ForTopic(a))
		same(t, err, topic == a)
		topic, l2, err = key.ParseLedger(key.ForLedger(a, l))
		same(t, err, topic == a && l2 == l)
		l2, e2, err = key.ParseExtent(key.ForExtent(l, e))
		same(t, err, l2 == l && e2 == e)
		topic, cursor, err := key.ParseCursor(key.ForCursor(a, b))
		same(t, err, topic == a && cursor == b)
		topic, cursor, l2, err = key.ParseHoles(key.ForHoles(a, b, l))
		same(t, err, topic == a && cursor == b && l2 == l)
		got, err := key.ParseMeta(key.ForMeta(name))
		same(t, err, got == name)
		kind, path, err := key.ParseResource(key.ForResource('t', name))
		same(t, err, kind == 't' && path == name)
	})
}

func same(t *rapid.T, err error, ok bool) {
	t.Helper()
	if err != nil || !ok {
		t.Fatalf("round trip failed: %v", err)
	}
}

// TestOrder checks that the order of keys is the order of what they stand for, and that a family's bounds hold its keys.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n string) [3]uint64 {
			return [3]uint64{rapid.Uint64().Draw(t, n), rapid.Uint64Max(1<<63-1).Draw(t, n), rapid.Uint64Max(1<<63-1).Draw(t, n)}
		}
		p, q := draw("p"), draw("q")
		want := 0
		for i := range p {
			if p[i] != q[i] {
				want = -1
				if p[i] > q[i] {
					want = 1
				}
				break
			}
		}
		k1, k2 := key.ForEntry(p[0], int64(p[1]), int64(p[2])), key.ForEntry(q[0], int64(q[1]), int64(q[2]))
		if got := bytes.Compare(k1, k2); got != want {
			t.Fatalf("compare = %d, want %d", got, want)
		}
		lower, upper := key.Entry.Bounds()
		if bytes.Compare(k1, lower) < 0 || bytes.Compare(k1, upper) >= 0 || !bytes.Equal(key.FamilyEnd(k1), upper) {
			t.Fatalf("%x is outside of its family", k1)
		}
	})
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		key  []byte
		want string
	}{
		{key.ForEntry(3, 7, 12), "entry/3/7/12"},
		{key.ForTopic(9), "topic/9"},
		{key.ForMeta("next-ledger"), `meta/"next-ledger"`},
		{key.ForResource('n', "public/default"), `resource/n/"public/default"`},
		{key.ForHoles(1, 2, 3), "holes/1/2/3"},
		{[]byte{'e', 1}, "entry 6501"},
		{[]byte{0}, "family 0x00 00"},
		{nil, "(empty)"},
	} {
		if got := key.Format(c.key); got != c.want {
			t.Errorf("Format(%x) = %q, want %q", c.key, got, c.want)
		}
	}
}

// FuzzParse feeds any bytes to every parser: none may panic, and what is accepted must build the same key again.
func FuzzParse(f *testing.F) {
	f.Add(key.ForEntry(1, 2, 3))
	f.Add(key.ForMeta("x"))
	f.Add(key.ForResource('t', "public"))
	f.Add([]byte{})
	f.Add([]byte{'e'})
	f.Fuzz(func(t *testing.T, k []byte) {
		key.Format(k)
		if e, l, n, err := key.ParseEntry(k); err == nil && !bytes.Equal(key.ForEntry(e, l, n), k) {
			t.Errorf("entry key %x", k)
		}
		if topic, c, l, err := key.ParseHoles(k); err == nil && !bytes.Equal(key.ForHoles(topic, c, l), k) {
			t.Errorf("holes key %x", k)
		}
		if kind, path, err := key.ParseResource(k); err == nil && !bytes.Equal(key.ForResource(kind, path), k) {
			t.Errorf("resource key %x", k)
		}
		if name, err := key.ParseMeta(k); err == nil && !bytes.Equal(key.ForMeta(name), k) {
			t.Errorf("meta key %x", k)
		}
		if topic, l, err := key.ParseLedger(k); err == nil && !bytes.Equal(key.ForLedger(topic, l), k) {
			t.Errorf("ledger key %x", k)
		}
	})
}
