package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os/exec"
	"strconv"
	"strings"

	"spoolctl/format"
	"spoolctl/live/daemon"
	"spoolctl/storage/offload"
)

// objectStore is an offload.Bucket that has spoold do its work, a process for each operation: the drivers of the object
// stores would cost every command of spoolctl 8 ms of start.
type objectStore struct{ bin, url string }

var _ offload.Bucket = (*objectStore)(nil)

// isObjectStore reports whether a target is the URL of an object store, and not a file.
func isObjectStore(target string) bool {
	scheme, _, ok := strings.Cut(target, "://")
	return ok && !strings.ContainsAny(scheme, `/\.`)
}

// openObjects checks that there is a spoold, and that the store answers. bin may be empty, to look for spoold.
func openObjects(ctx context.Context, bin, url string) (*objectStore, error) {
	found, err := daemon.Find(bin)
	if err != nil {
		return nil, fmt.Errorf("object stores are reached through spoold: %w", err)
	}
	s := &objectStore{found, url}
	for _, err := range s.List(ctx, "spoolctl-asks-whether-this-can-be-reached") {
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// run starts spoold for one operation; talk has its standard input and output while it runs.
func (s *objectStore) run(ctx context.Context, talk func(in io.Writer, out io.Reader) error, verb, name string, flags ...string) error {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	cmd := exec.CommandContext(ctx, s.bin, append(append([]string{"objects", verb}, flags...), "--", s.url, name)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return errors.Join(err, in.Close())
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", s.bin, err), in.Close())
	}
	terr := talk(in, out)
	_ = in.Close() // the child says what it thinks of that
	if terr != nil && verb != "put" {
		kill() // it may have more to say than anybody listens to
	}
	err = cmd.Wait()
	if ctx.Err() != nil && terr == nil {
		return ctx.Err()
	}
	return s.explain(name, terr, err, strings.TrimPrefix(strings.TrimSpace(said.String()), "spoold: "))
}

// explain makes one error of what this side and the child have to say. A pipe that broke is what the child's end causes.
func (s *objectStore) explain(name string, terr, err error, said string) error {
	var exit *exec.ExitError
	switch {
	case err == nil || !errors.As(err, &exit):
		return errors.Join(terr, err)
	case exit.ExitCode() == offload.ExitMissing:
		return fmt.Errorf("%w: %s in %s", offload.ErrMissing, name, s.url)
	case exit.ExitCode() == offload.ExitShort && terr == nil:
		return fmt.Errorf("%s in %s: %w", name, s.url, io.ErrUnexpectedEOF)
	case exit.ExitCode() > 0 && said != "" && exit.ExitCode() != offload.ExitShort:
		return &format.Error{Kind: format.ErrUnavailable, Msg: fmt.Sprintf("object store %s: %s", s.url, said),
			Hint: "the stores are s3://BUCKET, gs://BUCKET, azblob://CONTAINER and file:///FOLDER; credentials come from the provider's usual places"}
	}
	return errors.Join(terr, fmt.Errorf("object store %s: spoold ended with %w", s.url, err))
}

// Put implements offload.Bucket.
func (s *objectStore) Put(ctx context.Context, name string, content func(io.Writer) error) error {
	return s.run(ctx, func(in io.Writer, _ io.Reader) error { return offload.WriteFramed(in, content) }, "put", name)
}

// ReadAt implements offload.Bucket.
func (s *objectStore) ReadAt(ctx context.Context, name string, p []byte, offset int64) error {
	return s.run(ctx, func(_ io.Writer, out io.Reader) error {
		if _, err := io.ReadFull(out, p); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		return nil // the child says why, when there is less
	}, "get", name, "--offset", strconv.FormatInt(offset, 10), "--length", strconv.Itoa(len(p)))
}

// Delete implements offload.Bucket.
func (s *objectStore) Delete(ctx context.Context, name string) error {
	return s.run(ctx, func(io.Writer, io.Reader) error { return nil }, "delete", name)
}

// List implements offload.Bucket.
func (s *objectStore) List(ctx context.Context, prefix string) iter.Seq2[offload.Listed, error] {
	return func(yield func(offload.Listed, error) bool) {
		stopped := false
		err := s.run(ctx, func(_ io.Writer, out io.Reader) error {
			for dec := json.NewDecoder(out); ; {
				var l offload.Listed
				err := dec.Decode(&l)
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				if stopped = !yield(l, nil); stopped {
					return errStopped
				}
			}
		}, "list", prefix)
		if err != nil && !stopped {
			yield(offload.Listed{}, err)
		}
	}
}

var errStopped = errors.New("nobody wants more")
