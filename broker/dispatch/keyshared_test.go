package dispatch_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"spoolctl/broker/dispatch"
	"spoolctl/broker/fault"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// keyFor finds a key whose hash lies in a range.
func keyFor(r dispatch.KeyRange) string {
	for i := 0; ; i++ {
		k := fmt.Sprint("k", i)
		if h := int32(wire.Murmur3([]byte(k)) & 0x7fffffff % (1 << 16)); r.Start <= h && h <= r.End {
			return k
		}
	}
}

func sticky(start, end int32) func(*dispatch.ConsumerOptions) {
	return func(o *dispatch.ConsumerOptions) {
		o.Sticky, o.Ranges = true, []dispatch.KeyRange{{Start: start, End: end}}
	}
}

// A consumer that takes nothing holds up its own keys only.
func TestKeySharedNoHeadOfLineBlocking(t *testing.T) {
	l, s := newLog(), newSink(t)
	d := newDispatcher(t, pb.CommandSubscribe_Key_Shared, l)
	a := add(t, d, s.consumer(1, sticky(0, 32767)))
	b := add(t, d, s.consumer(2, sticky(32768, 65535)))
	ka, kb := keyFor(dispatch.KeyRange{Start: 0, End: 32767}), keyFor(dispatch.KeyRange{Start: 32768, End: 65535})
	l.publish(keys(ka, ka, kb, ka, kb)...)
	b.Flow(10)
	s.want(2, 2, 4)
	a.Flow(2)
	s.want(1, 0, 1)
	a.Flow(2)
	s.want(1, 0, 1, 3)
}

// A key moves to its new owner only when the former one has acknowledged all of it.
func TestKeySharedKeyStaysUntilAcked(t *testing.T) {
	l, s := newLog(), newSink(t)
	d := newDispatcher(t, pb.CommandSubscribe_Key_Shared, l)
	a := add(t, d, s.consumer(1))
	a.Flow(100)
	// The newcomer gets the lower half.
	k := keyFor(dispatch.KeyRange{Start: 0, End: 32767})
	l.publish(keys(k, k)...)
	d.Data()
	s.want(1, 0, 1)
	b := add(t, d, s.consumer(2))
	b.Flow(100)
	l.publish(keys(k, k)...)
	d.Data()
	l.ack(d, a, 0)
	if n := d.Snapshot().Draining; n != 1 {
		t.Errorf("%d keys are draining, want 1", n)
	}
	s.want(2)
	l.ack(d, a, 1)
	s.want(2, 2, 3)
	s.want(1, 0, 1)
}

func TestKeySharedLeaverHandsOver(t *testing.T) {
	l, s := newLog(), newSink(t)
	d := newDispatcher(t, pb.CommandSubscribe_Key_Shared, l)
	a, b := add(t, d, s.consumer(1)), add(t, d, s.consumer(2))
	a.Flow(100)
	b.Flow(100)
	var all []string
	for i := range 40 {
		all = append(all, fmt.Sprint("k", i%8))
	}
	l.publish(keys(all...)...)
	d.Data()
	s.count(40)
	mine := s.entries(1)
	d.Remove(a)
	s.count(40 + len(mine))
	again := s.entries(2)[40-len(mine):]
	if !slices.Equal(again, mine) {
		t.Errorf("handed over %v, want %v", again, mine)
	}
}

func TestKeySharedRanges(t *testing.T) {
	l, s := newLog(), newSink(t)
	d := newDispatcher(t, pb.CommandSubscribe_Key_Shared, l)
	add(t, d, s.consumer(1, sticky(100, 200)))
	for name, c := range map[string]*dispatch.Consumer{
		"overlap":    s.consumer(2, sticky(200, 300)),
		"backwards":  s.consumer(3, sticky(400, 300)),
		"too far":    s.consumer(4, sticky(400, 70000)),
		"auto split": s.consumer(5),
	} {
		if err := d.Add(c); !fault.Is(err, fault.ConsumerAssign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	add(t, d, s.consumer(6, sticky(201, 300)))
}

// Auto-split ranges cover every hash once, whoever comes and goes.
func TestKeySharedAutoSplitCovers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newSink(t)
		d := dispatch.New(dispatch.Options{Type: pb.CommandSubscribe_Key_Shared, Source: newLog(), Partition: -1})
		defer d.Close()
		var in []*dispatch.Consumer
		for i := range rapid.IntRange(1, 30).Draw(rt, "steps") {
			if len(in) > 0 && rapid.Bool().Draw(rt, "leave") {
				j := rapid.IntRange(0, len(in)-1).Draw(rt, "who")
				d.Remove(in[j])
				in = slices.Delete(in, j, j+1)
			} else {
				c := s.consumer(uint64(i))
				if err := d.Add(c); err != nil {
					rt.Fatal(err)
				}
				in = append(in, c)
			}
			var all []dispatch.KeyRange
			for _, c := range d.Snapshot().Consumers {
				if len(c.Ranges) == 0 {
					rt.Fatalf("consumer %s has no keys", c.Name)
				}
				all = append(all, c.Ranges...)
			}
			slices.SortFunc(all, func(a, b dispatch.KeyRange) int { return int(a.Start - b.Start) })
			next := int32(0)
			for _, r := range all {
				if r.Start != next {
					rt.Fatalf("ranges %v", all)
				}
				next = r.End + 1
			}
			if len(in) > 0 && next != 1<<16 {
				rt.Fatalf("ranges %v", all)
			}
		}
	})
}
