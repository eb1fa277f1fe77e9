package wire_test

import (
	"encoding/base64"
	"math"
	"testing"

	"spoolctl/wire"
)

func TestChecksum(t *testing.T) {
	if got := wire.Checksum([]byte("123456789")); got != 0xe3069283 {
		t.Errorf("got %08x, want e3069283", got)
	}
}

func TestMurmur3(t *testing.T) {
	for s, want := range map[string]uint32{
		"":              0,
		"abc":           0xb3dd93fa,
		"test":          0xba6bd213,
		"hello":         0x248bfa47,
		"Hello, world!": 0xc0363e43,
		"The quick brown fox jumps over the lazy dog": 0x2e4ff723,
	} {
		if got := wire.Murmur3([]byte(s)); got != want {
			t.Errorf("%q: got %08x, want %08x", s, got, want)
		}
	}
}

func TestKeyHash(t *testing.T) {
	hash := func(s string) uint32 { return wire.Murmur3([]byte(s)) & math.MaxInt32 }
	b64 := []byte(base64.StdEncoding.EncodeToString([]byte("key\x00")))
	for name, c := range map[string]struct {
		meta wire.Metadata
		want uint32
	}{
		"partition key":   {wire.Metadata{PartitionKey: []byte("key")}, hash("key")},
		"ordering first":  {wire.Metadata{PartitionKey: []byte("key"), OrderingKey: []byte("order")}, hash("order")},
		"base64":          {wire.Metadata{PartitionKey: b64, PartitionKeyB64: true}, hash("key\x00")},
		"not base64":      {wire.Metadata{PartitionKey: []byte("%%"), PartitionKeyB64: true}, hash("%%")},
		"empty key":       {wire.Metadata{PartitionKey: []byte{}}, 0},
		"no key":          {wire.Metadata{ProducerName: []byte("p"), SequenceID: 42}, hash("p-42")},
		"sign is cleared": {wire.Metadata{PartitionKey: []byte("test")}, 0x3a6bd213},
	} {
		if got := wire.KeyHash(&c.meta); got != c.want {
			t.Errorf("%s: got %08x, want %08x", name, got, c.want)
		}
	}
}
