package offload_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"spoolctl/storage/offload"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRoundTrip writes random ledgers in blocks of random size, and reads random runs of them.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 40), 1, 60).Draw(t, "values")
		b := newBucket()
		o, err := offload.Write(context.Background(), offload.WriteOptions{Bucket: b, Source: source(values),
			BlockBytes: rapid.IntRange(1, 200).Draw(t, "block"), Ledger: offload.Ref{Spool: spool, Ledger: 3, Entries: int64(len(values))}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := offload.Open(context.Background(), offload.OpenOptions{Bucket: b, Object: o, CacheBytes: rapid.Int64Range(1, 300).Draw(t, "cache")})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if want := len(bytes.Join(values, nil)); r.Bytes() != int64(want) {
			t.Fatalf("%d bytes, want %d", r.Bytes(), want)
		}
		for range rapid.IntRange(1, 8).Draw(t, "reads") {
			from := rapid.IntRange(0, len(values)+1).Draw(t, "from")
			most := rapid.IntRange(0, 70).Draw(t, "entries")
			size := rapid.IntRange(1, 300).Draw(t, "bytes")
			var want, got [][]byte
			for i, left := from, size; i < len(values) && len(want) < most && left > 0; i++ {
				want = append(want, values[i])
				left -= len(values[i])
			}
			if err := r.Read(context.Background(), int64(from), most, size, func(e int64, v []byte) error {
				if e != int64(from+len(got)) {
					t.Fatalf("entry %d", e)
				}
				got = append(got, v)
				return nil
			}); err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
				t.Fatalf("from %d: %x, %v; want %x", from, got, err, want)
			}
		}
	})
}

// TestDamage flips every byte of an object, and cuts it at every length: each is found, and no wrong entry comes.
func TestDamage(t *testing.T) {
	values := entries(20)
	b := newBucket()
	o := write(t, b, values)
	whole := b.objects[o.Name]
	try := func(what string, at int, bytes []byte) {
		t.Helper()
		b.objects[o.Name] = bytes
		var damage *offload.DamagedError
		r, err := offload.Open(context.Background(), offload.OpenOptions{Bucket: b, Object: o})
		if err != nil {
			if !errors.As(err, &damage) || damage.Block != -1 || damage.Object != o.Name {
				t.Fatalf("%s at %d: open says %v", what, at, err)
			}
			return
		}
		defer r.Close()
		n, err := readAll(r, 0, values)
		if !errors.As(err, &damage) || damage.First != int64(n) || damage.Offset > int64(at) {
			t.Fatalf("%s at %d: after %d entries %v", what, at, n, err)
		}
		if damage.Next < o.Entries { // what is behind the damage is readable
			if n, err := readAll(r, damage.Next, values); n != len(values)-int(damage.Next) || err != nil {
				t.Fatalf("%s at %d: behind the damage %d entries, %v", what, at, n, err)
			}
		}
	}
	for at := range whole {
		flipped := slices.Clone(whole)
		flipped[at] ^= 0x10
		try("flip", at, flipped)
		try("cut", at, whole[:at])
	}
	if len(whole) != int(o.Size) {
		t.Errorf("%d bytes, the object says %d", len(whole), o.Size)
	}
}

// TestInconsistentBlock checks that a block whose checksum is right, but whose entries do not fill it, is damage.
func TestInconsistentBlock(t *testing.T) {
	b := newBucket()
	o := write(t, b, [][]byte{{1, 2, 3}, {4, 5, 6}})
	object := b.objects[o.Name]
	for what, length := range map[string]byte{"short": 2, "long": 4} {
		object[20+4] = length // of the second entry
		sealAll(object)
		var damage *offload.DamagedError
		if n, err := readAll(openObject(t, b, o, 0), 0, nil); n != 0 || !errors.As(err, &damage) || damage.Block != 0 {
			t.Errorf("%s: %d entries, %v", what, n, err)
		}
	}
}

// TestWrongObject checks that an object is not taken for another ledger's, or when it is gone.
func TestWrongObject(t *testing.T) {
	b := newBucket()
	o := write(t, b, entries(3))
	for name, change := range map[string]func(*offload.Object){
		"ledger":  func(o *offload.Object) { o.Ledger++ },
		"entries": func(o *offload.Object) { o.Entries++ },
		"spool":   func(o *offload.Object) { o.Spool = strings.Replace(o.Spool, "0", "1", 1) },
		"size":    func(o *offload.Object) { o.Size-- },
		"no size": func(o *offload.Object) { o.Size = -1 },
	} {
		wrong := o
		change(&wrong)
		var damage *offload.DamagedError
		if _, err := offload.Open(context.Background(), offload.OpenOptions{Bucket: b, Object: wrong}); !errors.As(err, &damage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(offload.Delete(context.Background(), b, o), offload.Delete(context.Background(), b, o)); err != nil {
		t.Error("delete twice:", err)
	}
	if _, err := offload.Open(context.Background(), offload.OpenOptions{Bucket: b, Object: o}); !errors.Is(err, offload.ErrMissing) {
		t.Error("open a missing object:", err)
	}
}

// TestWriteFails checks that an upload that breaks off leaves nothing and can be repeated.
func TestWriteFails(t *testing.T) {
	errBoom := errors.New("boom")
	values := entries(20)
	ctx, cancel := context.WithCancel(context.Background())
	opts := func(b *fakeBucket, s offload.Source) offload.WriteOptions {
		return offload.WriteOptions{Bucket: b, Source: s, BlockBytes: 100, Ledger: offload.Ref{Spool: spool, Ledger: 7, Entries: 20}}
	}
	for name, c := range map[string]struct {
		break_ func(b *fakeBucket, o *offload.WriteOptions)
		want   error
	}{
		"source ends early": {func(_ *fakeBucket, o *offload.WriteOptions) { o.Source = source(values[:19]) }, offload.ErrSource},
		"source has more":   {func(_ *fakeBucket, o *offload.WriteOptions) { o.Source = source(entries(21)) }, offload.ErrSource},
		"source has a gap":  {func(_ *fakeBucket, o *offload.WriteOptions) { o.Source = gap(values) }, offload.ErrSource},
		"source fails":      {func(_ *fakeBucket, o *offload.WriteOptions) { o.Source = failing(values[:5], errBoom) }, errBoom},
		"write fails":       {func(b *fakeBucket, _ *offload.WriteOptions) { b.onWrite = failAfter(200, errBoom) }, errBoom},
		"cancelled":         {func(b *fakeBucket, _ *offload.WriteOptions) { b.onWrite = func(int) error { cancel(); return nil } }, context.Canceled},
		"cannot be read": {func(b *fakeBucket, _ *offload.WriteOptions) {
			b.onRead = func(context.Context, int64) error { return errBoom }
		}, errBoom},
		"is not what it was": {func(b *fakeBucket, _ *offload.WriteOptions) {
			b.onPut = func(n string) { b.objects[n] = b.objects[n][:90] }
		}, nil},
	} {
		b := newBucket()
		o := opts(b, source(values))
		c.break_(b, &o)
		_, err := offload.Write(ctx, o)
		var damage *offload.DamagedError
		if err == nil || (c.want != nil && !errors.Is(err, c.want)) || (c.want == nil && !errors.As(err, &damage)) {
			t.Errorf("%s: %v", name, err)
		}
		if len(b.objects) != 0 {
			t.Errorf("%s: an object is left", name)
		}
		b.onRead, b.onWrite, b.onPut = nil, nil, nil
		again := write(t, b, values)
		if n, err := readAll(openObject(t, b, again, 0), 0, values); n != 20 || err != nil {
			t.Errorf("%s: repeated: %d entries, %v", name, n, err)
		}
		ctx, cancel = context.WithCancel(context.Background())
	}
	cancel()
	for _, ref := range []offload.Ref{{Spool: "short", Ledger: 1, Entries: 1}, {Spool: spool, Ledger: -1, Entries: 1}, {Spool: spool, Ledger: 1}} {
		if _, err := offload.Write(ctx, offload.WriteOptions{Bucket: newBucket(), Source: source(nil), Ledger: ref}); err == nil {
			t.Errorf("%+v was accepted", ref)
		}
	}
}

func failing(values [][]byte, err error) offload.Source {
	return func(ctx context.Context, each func(int64, []byte) error) error {
		return errors.Join(source(values)(ctx, each), err)
	}
}

func gap(values [][]byte) offload.Source {
	return func(_ context.Context, each func(int64, []byte) error) error {
		return errors.Join(each(0, values[0]), each(2, values[2]))
	}
}

func failAfter(n int, err error) func(int) error {
	return func(written int) error {
		if written >= n {
			return err
		}
		return nil
	}
}

// TestOrphans checks that only objects of this spool that nobody needs are found.
func TestOrphans(t *testing.T) {
	b := newBucket()
	kept, orphan := write(t, b, entries(3)), write(t, b, entries(3))
	for _, other := range []string{spool + "/ledger-x-1", spool + "/ledger-7-short", spool + "/readme", "another/ledger-7-" + strings.Repeat("a", 26)} {
		b.objects[other] = nil
	}
	var found []string
	for l, err := range offload.Orphans(context.Background(), b, spool, func(ledger int64, name string) bool { return ledger == 7 && name == kept.Name }) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, l.Name)
	}
	if !slices.Equal(found, []string{orphan.Name}) {
		t.Errorf("found %q, want %q", found, orphan.Name)
	}
}
