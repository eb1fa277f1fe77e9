package maintain_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spoolctl/inspect/archive"
	"spoolctl/maintain"
	"spoolctl/storage"
	"spoolctl/wire"

	"github.com/google/go-cmp/cmp"
)

// renamed is an archive of topics that sample spools do not have.
func renamed(t testing.TB) []byte {
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, archive.Header{Spool: "x", Written: base()})
	must(t, err)
	must(t, w.Topic(archive.Topic{Name: "persistent://public/default/imported", Created: base()}))
	must(t, w.Ledger(archive.Ledger{ID: 1, Entries: 1, Messages: 1, Created: base(), Closed: base()}))
	must(t, w.Entry(archive.Entry{PublishTime: base().UnixMilli(), Messages: 1, Data: entry(0, "x")}))
	must(t, w.Cursor(archive.Cursor{Name: "s", Created: base()}))
	must(t, w.Close())
	return out.Bytes()
}

var errKilled = errors.New("killed")

// verbs are all verbs that go through the frame.
func verbs(t testing.TB) map[string]func(o maintain.Options) (*maintain.Result, error) {
	ctx := context.Background()
	orders, events := name(t, orders), name(t, events)
	archived := renamed(t)
	cursor := func(o maintain.Options, sub string) maintain.CursorOptions {
		return maintain.CursorOptions{Options: o, Topic: orders, Subscription: sub}
	}
	return map[string]func(o maintain.Options) (*maintain.Result, error){
		"cursor-set": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.SetCursor(ctx, cursor(o, "billing"), maintain.Target{Time: base().Add(20 * time.Millisecond)})
		},
		"cursor-skip": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.SkipCursor(ctx, cursor(o, "billing"), 7)
		},
		"cursor-ack": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.AckCursor(ctx, cursor(o, "audit"), []wire.MessageID{{Position: wire.Position{Ledger: 3, Entry: 4}, Batch: -1}})
		},
		"cursor-clear": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.ClearCursor(ctx, cursor(o, "billing"))
		},
		"cursor-delete": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.DeleteCursor(ctx, cursor(o, "billing"))
		},
		"cursor-rename": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.RenameCursor(ctx, cursor(o, "billing"), "new")
		},
		"cursor-create": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.CreateCursor(ctx, cursor(o, "fresh"), maintain.Target{}, map[string]string{"a": "b"})
		},
		"topic-delete": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.DeleteTopic(ctx, maintain.TopicOptions{Options: o, Topic: orders})
		},
		"topic-truncate": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.TruncateTopic(ctx, maintain.TopicOptions{Options: o, Topic: orders})
		},
		"topic-terminate": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.TerminateTopic(ctx, maintain.TopicOptions{Options: o, Topic: orders})
		},
		"topic-rename": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.RenameTopic(ctx, maintain.TopicOptions{Options: o, Topic: orders}, name(t, "bills"))
		},
		"compact": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.Compact(ctx, maintain.CompactOptions{Options: o})
		},
		"migrate": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.Migrate(ctx, maintain.MigrateOptions{Options: o, Compression: "zstd"})
		},
		"resources-load": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.LoadResources(ctx, o, &maintain.Resources{Tenants: map[string]json.RawMessage{"acme": json.RawMessage(`{}`)}})
		},
		"import": func(o maintain.Options) (*maintain.Result, error) {
			i := importOf(o.Dir, archived)
			i.Options = o
			return maintain.Import(ctx, i)
		},
		"trim": func(o maintain.Options) (*maintain.Result, error) {
			return maintain.Trim(ctx, maintain.TrimOptions{Options: o, Topics: []string{events.String()}})
		},
	}
}

// TestDryRun: a dry run changes nothing and makes the plan that the run executes.
func TestDryRun(t *testing.T) {
	original := makeSpool(t)
	for verb, run := range verbs(t) {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			dir := copyTree(t, original)
			o := options(dir)
			was := tree(t, dir)
			o.DryRun = true
			dry, err := run(o)
			must(t, err)
			if diff := cmp.Diff(was, tree(t, dir)); diff != "" {
				t.Errorf("the dry run changed %s", diff)
			}
			o.DryRun = false
			var asked *maintain.Plan
			o.Confirm = func(_ context.Context, p *maintain.Plan) error { asked = p; return nil }
			done, err := run(o)
			must(t, err)
			if dry.Done || !done.Done || dry.Verb != verb || dry.Checkpoint != done.Checkpoint || dry.Need != done.Need || !slices.Equal(dry.Actions, done.Actions) || !slices.Equal(asked.Actions, dry.Actions) {
				t.Errorf("dry %+v, done %+v", dry.Plan, done.Plan)
			}
			if s := done.Summary(); s.Before == nil || *s.Before == 0 || *s.After == 0 || s.Actions == 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestRefusals: what stops a run before it changes anything leaves the spool as it was.
func TestRefusals(t *testing.T) {
	dir := makeSpool(t)
	was := contents(t, dir)
	run := func(change func(*maintain.Options)) error {
		o := options(dir)
		change(&o)
		_, err := maintain.ClearCursor(context.Background(), cursorOf(t, o, orders, "billing"))
		return err
	}
	var space *maintain.SpaceError
	if err := run(func(o *maintain.Options) { o.Free = func(string) (uint64, error) { return 1000, nil } }); !errors.As(err, &space) || space.Free != 1000 || space.Want < 1000 {
		t.Errorf("no space: %v", err)
	}
	no := errors.New("no")
	if err := run(func(o *maintain.Options) { o.Confirm = func(context.Context, *maintain.Plan) error { return no } }); !errors.Is(err, no) {
		t.Errorf("refused: %v", err)
	}
	if err := run(func(o *maintain.Options) { o.Dir += "-wrong" }); !errors.Is(err, storage.ErrNoSpool) {
		t.Errorf("wrong path: %v", err)
	}
	if _, err := os.Stat(dir + "-wrong"); err == nil {
		t.Error("the wrong path exists now")
	}
	if _, err := maintain.Undo(context.Background(), options(dir), ""); !errors.Is(err, maintain.ErrNoCheckpoint) {
		t.Errorf("undo of nothing: %v", err)
	}
	if os.Getuid() != 0 {
		must(t, os.Chmod(dir, 0o500))
		defer os.Chmod(dir, 0o700)
		if err := run(func(*maintain.Options) {}); !errors.Is(err, os.ErrPermission) {
			t.Errorf("read-only: %v", err)
		}
	}
	if diff := cmp.Diff(was, contents(t, dir)); diff != "" {
		t.Error(diff)
	}
	sound(t, dir)
}

// TestNoBackup: without a checkpoint nothing is left to go back to.
func TestNoBackup(t *testing.T) {
	o := options(makeSpool(t))
	o.NoBackup = true
	res, err := maintain.ClearCursor(context.Background(), cursorOf(t, o, orders, "billing"))
	must(t, err)
	if list, err := maintain.Checkpoints(o.Dir); err != nil || len(list) != 0 || res.Checkpoint != "" {
		t.Errorf("%v, %v, %q", list, err, res.Checkpoint)
	}
	sound(t, o.Dir)
}

// holdSpool is the child process of TestLocked: it has a spool open until its input ends.
func holdSpool() bool {
	dir := os.Getenv("MAINTAIN_TEST_HOLD")
	if dir == "" {
		return false
	}
	s, err := storage.Open(context.Background(), storage.Options{Dir: dir})
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		return true
	}
	os.Stdout.WriteString("open\n")
	io.Copy(io.Discard, os.Stdin)
	s.Close(context.Background())
	return true
}

// TestLocked: a spool in use is refused at once, with the process that has it, dry run or not.
func TestLocked(t *testing.T) {
	dir := makeSpool(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MAINTAIN_TEST_HOLD="+dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() {
		in.Close()
		cmd.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != "open" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	for _, dry := range []bool{false, true} {
		o := options(dir)
		o.DryRun = dry
		start := time.Now()
		_, err := maintain.ClearCursor(context.Background(), cursorOf(t, o, orders, "billing"))
		var locked *storage.LockedError
		if !errors.As(err, &locked) || locked.PID != cmd.Process.Pid || time.Since(start) > time.Second {
			t.Errorf("dry %v: %v after %s", dry, err, time.Since(start))
		}
	}
}

func copyTree(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "spool")
	must(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}
