package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrNoCheckpoint says that there is nothing to go back to.
var ErrNoCheckpoint = errors.New("there is no checkpoint to go back to")

// Checkpoint is a state that Undo can bring back.
type Checkpoint struct {
	Name  string    `json:"name" col:"NAME,name"` // below SPOOL/checkpoints
	Made  time.Time `json:"made" col:"MADE" fmt:"time"`
	Bytes int64     `json:"bytes" col:"BYTES" fmt:"bytes"` // of its files; those that the spool has too are stored once
}

// Checkpoints lists what runs have kept of the spool in dir, the newest first.
func Checkpoints(dir string) (out []Checkpoint, err error) {
	list, err := os.ReadDir(checkpointsDir(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), checkpointPrefix) || !e.IsDir() {
			continue
		}
		made, _ := stampOf(e.Name())
		all, _, err := size(filepath.Join(checkpointsDir(dir), e.Name()))
		if err != nil {
			continue // a folder of another origin
		}
		out = append(out, Checkpoint{e.Name(), made, all})
	}
	slices.SortFunc(out, func(a, b Checkpoint) int {
		_, m := stampOf(a.Name)
		_, n := stampOf(b.Name)
		return cmp.Or(b.Made.Compare(a.Made), n-m)
	})
	return out, nil
}

// stampLayout is how checkpoint names tell when they were made.
const stampLayout = "20060102T150405Z"

// stampOf takes the time off a checkpoint's name, and the number that tells several of one second apart.
func stampOf(name string) (at time.Time, n int) {
	parts := strings.Split(name, "-")
	for i := len(parts) - 1; i > 0 && i >= len(parts)-2; i-- {
		if at, err := time.Parse(stampLayout, parts[i]); err == nil {
			if i < len(parts)-1 {
				fmt.Sscan(parts[i+1], &n) //nolint:errcheck // another origin's name; it sorts first then
			}
			return at, n
		}
	}
	return time.Time{}, 0
}

// Undo puts a checkpoint back, the newest when name is empty. The state before becomes a checkpoint itself: a second Undo
// takes the first back.
func Undo(ctx context.Context, o Options, name string) (*Result, error) {
	w := work{verb: "undo"}
	var from Checkpoint
	w.plan = func(_ context.Context, p *Plan) error {
		all, err := Checkpoints(o.Dir)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(c Checkpoint) bool { return name == "" || c.Name == name })
		if i < 0 {
			return fmt.Errorf("%w: %s", ErrNoCheckpoint, filepath.Join(checkpointsDir(o.Dir), name))
		}
		from = all[i]
		id, err := storage.ReadIdentity(vfs.Default, filepath.Join(checkpointsDir(o.Dir), from.Name))
		if err != nil {
			return err
		}
		now, err := storage.ReadIdentity(vfs.Default, o.Dir)
		if err != nil {
			return err
		}
		if id.UUID != now.UUID {
			return fmt.Errorf("checkpoint %s is of another spool, %s", from.Name, id.UUID)
		}
		p.add("put back", "checkpoint", from.Name, "made %s, %d bytes; everything that happened to the spool since is undone", from.Made.Format(time.RFC3339), from.Bytes)
		return nil
	}
	w.stage = func(ctx context.Context, dir string) error {
		return cloneSpool(ctx, filepath.Join(checkpointsDir(o.Dir), from.Name), dir)
	}
	return o.run(ctx, w)
}
