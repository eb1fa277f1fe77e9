package offload_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"spoolctl/storage/offload"
)

// FuzzFramed: content comes through whole; any part of the frames ends with an error and gives a part of the content.
func FuzzFramed(f *testing.F) {
	f.Add([]byte("content"), 3)
	f.Add([]byte{}, 0)
	f.Add(bytes.Repeat([]byte{7}, 3<<20), 1<<20)
	f.Fuzz(func(t *testing.T, content []byte, cut int) {
		var b bytes.Buffer
		if err := offload.WriteFramed(&b, func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		framed := b.Bytes()
		if got, err := io.ReadAll(offload.ReadFramed(bytes.NewReader(framed))); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%d of %d bytes, %v", len(got), len(content), err)
		}
		if cut < 0 || cut >= len(framed) {
			return
		}
		if got, err := io.ReadAll(offload.ReadFramed(bytes.NewReader(framed[:cut]))); !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(content, got) {
			t.Fatalf("cut at %d: %d bytes, %v", cut, len(got), err)
		}
		_, _ = io.ReadAll(offload.ReadFramed(bytes.NewReader(content))) // whatever it is
	})
}
