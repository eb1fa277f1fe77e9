package key_test

import (
	"bytes"
	"testing"

	"spoolctl/storage/key"

	"pgregory.net/rapid"
)

func TestSchemaRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint64().Draw(t, "subject"), rapid.Uint64().Draw(t, "version")
		k := key.ForSchema(a, b)
		subject, version, err := key.ParseSchema(k)
		same(t, err, subject == a && version == b)
		lower, upper := key.ForSchemas(a)
		if bytes.Compare(k, lower) < 0 || (upper != nil && bytes.Compare(k, upper) >= 0) {
			t.Fatalf("%x is outside of its subject", k)
		}
	})
}
