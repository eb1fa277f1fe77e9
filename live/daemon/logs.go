package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"
)

// tailWindow is how far back from its end a log is searched for lines.
const tailWindow = 1 << 20

// Tail gives the last n lines of a file, as far as they lie within the last
// MiB; nothing when the file cannot be read.
func Tail(path string, n int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	lines, _, err := tail(f, n)
	if err != nil {
		return nil
	}
	return lines
}

// tail also gives the offset where the file ended.
func tail(f *os.File, n int) ([]string, int64, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	start := max(0, info.Size()-tailWindow)
	b := make([]byte, info.Size()-start)
	got, err := f.ReadAt(b, start)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	b = b[:got]
	if start > 0 {
		// The first line of the window began before it.
		if _, after, ok := bytes.Cut(b, []byte("\n")); ok {
			b = after
		}
	}
	text := strings.TrimSuffix(string(b), "\n")
	if text == "" || n <= 0 {
		return nil, start + int64(got), nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):], start + int64(got), nil
}

// Logs writes the last n lines of a log, then with follow what is added, until
// ctx ends. A log that shrinks was rotated in place and is read from its start.
func Logs(ctx context.Context, path string, n int, follow bool, w io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines, at, err := tail(f, n)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if _, err := io.WriteString(w, l+"\n"); err != nil {
			return err
		}
	}
	tick := time.NewTicker(4 * pollInterval)
	defer tick.Stop()
	for follow {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if info.Size() < at {
			at = 0
		}
		copied, err := io.Copy(w, io.NewSectionReader(f, at, info.Size()-at))
		if err != nil {
			return err
		}
		at += copied
	}
	return nil
}
