package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spoolctl/storage/offload"
	"spoolctl/storage/offload/bucket"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Connections that the SDK keeps for the next request end when the server does, a moment later.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

const spool = "0f8fad5b-d9cb-469f-a165-70867728950e"

// startS3 runs an S3 server and returns the address of its bucket.
func startS3(t *testing.T) string {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("spools"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	return "s3://spools?prefix=a/b/&region=us-east-1&use_path_style=true&endpoint=" + url.QueryEscape(server.URL)
}

func open(t *testing.T, address string) *bucket.Bucket {
	t.Helper()
	b, err := bucket.Open(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := b.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestProviders takes a ledger of more than one upload part through every provider that a test can start.
func TestProviders(t *testing.T) {
	dir := t.TempDir()
	for name, address := range map[string]string{"mem": "mem://", "folder": "file://" + filepath.ToSlash(dir), "s3": startS3(t)} {
		t.Run(name, func(t *testing.T) { testBucket(t, open(t, address)) })
	}
	left := 0
	filepath.WalkDir(dir, func(_ string, d os.DirEntry, _ error) error {
		if !d.IsDir() {
			left++
		}
		return nil
	})
	if left != 0 {
		t.Errorf("%d files are left in the folder", left)
	}
}

func testBucket(t *testing.T, b *bucket.Bucket) {
	ctx := context.Background()
	const entries = 4000 // of 5 KiB: three parts
	payload := make([]byte, 5<<10)
	rand.NewChaCha8([32]byte{1}).Read(payload)
	value := func(i int64) []byte { return append(fmt.Appendf(nil, "%d ", i), payload...) }
	source := func(ctx context.Context, each func(int64, []byte) error) error {
		for i := range int64(entries) {
			if err := errors.Join(ctx.Err(), each(i, value(i))); err != nil {
				return err
			}
		}
		return nil
	}
	opts := offload.WriteOptions{Bucket: b, Source: source, Ledger: offload.Ref{Spool: spool, Ledger: 12, Entries: entries}}

	// Attempts that break off.
	broken := opts
	errBoom := errors.New("boom")
	broken.Source = func(ctx context.Context, each func(int64, []byte) error) error {
		return source(ctx, func(i int64, v []byte) error {
			if i == entries/2 {
				return errBoom
			}
			return each(i, v)
		})
	}
	if _, err := offload.Write(ctx, broken); !errors.Is(err, errBoom) {
		t.Fatal("a source that fails:", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	broken.Source = func(ctx context.Context, each func(int64, []byte) error) error {
		return source(ctx, func(i int64, v []byte) error {
			if i == entries/2 {
				cancel()
			}
			return each(i, v)
		})
	}
	if _, err := offload.Write(cancelled, broken); !errors.Is(err, context.Canceled) {
		t.Fatal("a cancelled upload:", err)
	}

	o, err := offload.Write(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for l, err := range offload.Orphans(ctx, b, spool, func(int64, string) bool { return false }) {
		if found++; err != nil || l.Name != o.Name || l.Size != o.Size || l.Modified.IsZero() {
			t.Errorf("listed %+v, %v", l, err)
		}
	}
	if found != 1 {
		t.Errorf("%d objects are there, want the one that was finished", found)
	}

	r, err := offload.Open(ctx, offload.OpenOptions{Bucket: b, Object: o})
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	if err := r.Read(ctx, 0, 1<<30, 1<<30, func(i int64, v []byte) error {
		if i != n || !bytes.Equal(v, value(i)) {
			return fmt.Errorf("entry %d is not what was written", i)
		}
		n++
		return nil
	}); err != nil || n != entries {
		t.Errorf("%d entries, %v", n, err)
	}
	r.Close()

	for what, offset := range map[string]int64{"over the end": o.Size - 1, "at the end": o.Size, "behind the end": o.Size + 9} {
		if err := b.ReadAt(ctx, o.Name, make([]byte, 2), offset); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("read %s: %v", what, err)
		}
	}
	if err := b.Delete(ctx, o.Name); err != nil {
		t.Error(err)
	}
	if err := b.Delete(ctx, o.Name); err != nil && !errors.Is(err, offload.ErrMissing) { // S3 does not tell
		t.Error("delete again:", err)
	}
	if err := b.ReadAt(ctx, o.Name, make([]byte, 1), 0); !errors.Is(err, offload.ErrMissing) {
		t.Error("read a deleted object:", err)
	}
}

// TestOpenRefuses checks addresses that cannot work.
func TestOpenRefuses(t *testing.T) {
	missing := "file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "none"))
	for _, address := range []string{"", "ftp://x", "%", missing, "file:///tmp?prefix=x/", "file:///tmp?unknown=1"} {
		if b, err := bucket.Open(context.Background(), address); err == nil {
			b.Close()
			t.Errorf("%q was opened", address)
		}
	}
	b, err := bucket.Open(context.Background(), strings.Replace(startS3(t), "spools", "none", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Check(context.Background()); err == nil {
		t.Error("a bucket that is not there can be reached")
	}
}
