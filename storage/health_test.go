package storage_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is free space that a test sets; looked tells of each look at it.
type disk struct {
	free   atomic.Uint64
	looked chan struct{}
}

func (d *disk) look() uint64 {
	select {
	case d.looked <- struct{}{}:
	default:
	}
	return d.free.Load()
}

// until waits for something that comes of looks at the disk.
func (d *disk) until(t *testing.T, ok func() bool) {
	t.Helper()
	for looks := 0; !ok(); looks++ {
		if looks == 100 {
			t.Fatal("it does not happen")
		}
		<-d.looked
	}
}

// tightFS is a file system on a disk.
type tightFS struct {
	vfs.FS
	disk *disk
}

func (f tightFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: f.disk.look()}, nil
}

func (f tightFS) Unwrap() vfs.FS { return f.FS }

// When the disk is nearly full, entries are refused; acknowledgements and reads go on, and entries too when there is room.
func TestNearlyFullDisk(t *testing.T) {
	for what, limit := range map[string]func(o *storage.Options, d *disk){
		"bytes": func(o *storage.Options, d *disk) {
			o.FS, o.MinFreeBytes = tightFS{o.FS, d}, 1000
		},
		"inodes": func(o *storage.Options, d *disk) {
			o.MinFreeInodes, o.FreeInodes = 1000, func(string) (uint64, bool) { return d.look(), true }
		},
	} {
		t.Run(what, func(t *testing.T) {
			d := &disk{looked: make(chan struct{})}
			d.free.Store(1 << 40)
			s := open(t, vfs.NewMem(), func(o *storage.Options) { limit(o, d) })
			defer closeStore(t, s)
			tp, sk := create(t, s, "a")
			c := cursor(t, tp, "s")
			fill(t, tp, sk, "x", 3, 1)

			d.free.Store(999)
			var tight *storage.NoSpaceError
			d.until(t, func() bool { return errors.As(s.Health(), &tight) })
			if tight.What != what {
				t.Errorf("short of %s", tight.What)
			}
			if err := tp.Append(storage.Append{Data: []byte("y")}); !errors.As(err, &tight) {
				t.Errorf("an entry on a full disk: %v", err)
			}
			stored := make(chan error, 1)
			if err := c.Ack([]storage.Ack{{Position: tp.LastConfirmed()}}, func(err error) { stored <- err }); err != nil {
				t.Errorf("an acknowledgement on a full disk: %v", err)
			} else if err := <-stored; err != nil {
				t.Errorf("an acknowledgement on a full disk: %v", err)
			}
			if got := readAll(t, tp); len(got) != 3 {
				t.Errorf("read %d entries on a full disk", len(got))
			}

			d.free.Store(1050) // not enough: the state must not flap
			<-d.looked
			<-d.looked
			if s.Health() == nil {
				t.Error("a little more than the limit is enough")
			}
			d.free.Store(1 << 40)
			d.until(t, func() bool { return s.Health() == nil })
			fill(t, tp, sk, "z", 1, 1)
		})
	}
}

func TestProbeNamesTheOwner(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := filepath.Join(t.TempDir(), "spool")
	at := func(o *storage.Options) { o.Dir = dir }
	closeStore(t, open(t, vfs.Default, at))
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := storage.Open(context.Background(), storage.Options{Dir: dir})
	if err := os.Chmod(dir, 0o700); err != nil { // so that it can be removed
		t.Fatal(err)
	}
	if err == nil || !strings.Contains(err.Error(), "mode 0500") || !strings.Contains(err.Error(), "belongs to user") {
		t.Errorf("got %v", err)
	}
}

// What cannot be made is found before the database is opened, and nothing of the attempt stays.
func TestProbeFindsFailures(t *testing.T) {
	dir := t.TempDir()
	at := func(o *storage.Options) { o.Dir = filepath.Join(dir, "spool") }
	closeStore(t, open(t, vfs.Default, at))
	if err := os.MkdirAll(filepath.Join(dir, "spool", "probe", "full"), 0o700); err != nil { // stands where the probe's file would
		t.Fatal(err)
	}
	_, err := storage.Open(context.Background(), storage.Options{Dir: filepath.Join(dir, "spool")})
	if err == nil || !strings.Contains(err.Error(), "cannot make a file in") {
		t.Errorf("got %v", err)
	}
}

func TestLoadLimit(t *testing.T) {
	s := open(t, vfs.NewMem(), func(o *storage.Options) { o.MaxLoads = 1 })
	defer closeStore(t, s)
	for _, n := range []string{"a", "b"} {
		tp, _ := create(t, s, n)
		if err := tp.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{"a", "b", "a"} { // the place is given back
		tp, _ := reopen(t, s, n)
		if err := tp.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// A spool whose database is gone is not taken for a new one.
func TestMissingDatabase(t *testing.T) {
	fs := vfs.NewMem()
	closeStore(t, open(t, fs))
	if err := fs.RemoveAll("spool/" + storage.StoreDir); err != nil {
		t.Fatal(err)
	}
	_, err := storage.Open(context.Background(), storage.Options{Dir: "spool", FS: fs})
	if err == nil || !strings.Contains(err.Error(), "has no database") {
		t.Errorf("got %v", err)
	}
	if _, err := fs.Stat("spool/" + storage.StoreDir); err == nil {
		t.Error("a database was made")
	}
}
