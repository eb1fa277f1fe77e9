package inspect_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"spoolctl/inspect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// unpack returns the files of a support archive.
func unpack(t *testing.T, b []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || !json.Valid(text) {
			t.Fatalf("%s: %v %s", h.Name, err, text)
		}
		out[h.Name] = string(text)
	}
}

func TestSupport(t *testing.T) {
	for _, fill := range []func(*maker){sample, rich} {
		fs := vfs.NewMem()
		m := makeSpool(t, fs, "spool")
		fill(m)
		m.stop()
		for _, redact := range []bool{false, true} {
			s := open(t, inspect.Options{Dir: "spool", FS: fs})
			var b bytes.Buffer
			if err := s.Support(context.Background(), &b, inspect.SupportOptions{Redact: redact, Program: "test"}); err != nil {
				t.Fatal(err)
			}
			files := unpack(t, b.Bytes())
			all := ""
			for _, text := range files {
				all += text + "\n"
			}
			if len(files) != 15 || !strings.Contains(files["support/problems.json"], `"failures":{}`) {
				t.Errorf("%d files, %s", len(files), files["support/problems.json"])
			}
			for _, secret := range []string{`{\"order\":0}`, "key-1", "secret", "blue", "event 3", "first second", "team"} {
				if strings.Contains(all, secret) && (redact || secret != "blue" && secret != "team") {
					t.Errorf("redact %t: %s is in the archive", redact, secret)
				}
			}
			for _, name := range []string{"orders", "acme", "shop", "billing", "holes", "public/default", "careful", "large"} {
				if redact && strings.Contains(strings.NewReplacer(`"holes":`, "", `"family":"holes"`, "", "largest", "", "the holes", "").Replace(all), name) {
					t.Errorf("%s is in the redacted archive", name)
				}
			}
			if !strings.Contains(files["support/topics.json"], `"messages":`) {
				t.Errorf("topics: %s", files["support/topics.json"])
			}
		}
	}
}
