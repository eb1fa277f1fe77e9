package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBucketURL: a wrong object store is an error of the configuration, one that is not there of the start.
func TestBucketURL(t *testing.T) {
	for url, want := range map[string]struct {
		code  int
		words string
	}{
		"s4://bucket":                 {exitUsage, "offload-bucket"},
		"file:///does/not/exist/here": {exitUsage, "offload-bucket"},
	} {
		var stderr bytes.Buffer
		args := []string{"--spool", filepath.Join(t.TempDir(), "s"), "--port", "0", "--web-port", "0", "--log-level", "error"}
		if code := run(context.Background(), args, []string{"SPOOLD_OFFLOAD_BUCKET=" + url}, io.Discard, &stderr); code != want.code || !strings.Contains(stderr.String(), want.words) {
			t.Errorf("%s: exit code %d, %s", url, code, &stderr)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	done := make(chan int, 1)
	folder := t.TempDir()
	go func() {
		done <- run(ctx, []string{"--spool", filepath.Join(t.TempDir(), "s"), "--port", "0", "--web-port", "0", "--log-level", "error"},
			[]string{"SPOOLD_OFFLOAD_BUCKET=file://" + folder}, in, os.Stderr)
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, out) // ends with the pipe
	cancel()
	if code := <-done; code != exitOK {
		t.Errorf("exit code %d", code)
	}
	in.Close()
}
