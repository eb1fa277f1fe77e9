package load_test

import (
	"bytes"
	"testing"
	"time"

	"spoolctl/bench/load"
	"spoolctl/wire"
)

func TestRing(t *testing.T) {
	r := load.NewRing(1024)
	seen := map[string]bool{}
	for i := range 1000 {
		p, err := wire.SplitEntry(r.Entry(i))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Verify(); err != nil || !p.HasChecksum {
			t.Fatalf("message %d: checksum %t, %v", i, p.HasChecksum, err)
		}
		if !bytes.Equal(p.Payload, r.Payload(i)) || len(p.Payload) != r.Size() {
			t.Fatalf("message %d is another one", i)
		}
		if seen[string(p.Payload)] {
			t.Fatalf("message %d came before", i)
		}
		seen[string(p.Payload)] = true
	}
}

func TestStamp(t *testing.T) {
	payload := make([]byte, 100)
	load.Stamp(payload, time.Now().Add(-time.Hour))
	if age := load.Age(payload); age < time.Hour || age > time.Hour+time.Minute {
		t.Errorf("%v", age)
	}
}

func TestPacerCountsWhatIsDue(t *testing.T) {
	p := load.NewPacer(1000)
	due, err := p.Wait(t.Context(), 3)
	if err != nil || due < 1 || time.Now().Before(p.Due(3+due-1)) {
		t.Errorf("%d messages are due, %v", due, err)
	}
}
