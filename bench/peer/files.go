package peer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"spoolctl/bench/load"
)

// PublishFiles stores each message in a file of its own, in two levels of hashed folders below dir as storage kind "files"
// has them, and returns messages per second. With every > 0, so many files at a time are fsynced with their folders; 0
// leaves that to the system. The folder is removed afterwards.
func PublishFiles(dir string, ring *load.Ring, messages, every int) (rate float64, err error) {
	if err := os.RemoveAll(dir); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var open []*os.File
	start := time.Now()
	for i := range messages {
		name := fmt.Sprintf("1-1-%d", i)
		sum := sha256.Sum256([]byte(name))
		h := hex.EncodeToString(sum[:2])
		folder := filepath.Join(dir, h[:2], h[2:])
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return 0, err
		}
		f, err := os.Create(filepath.Join(folder, name))
		if err != nil {
			return 0, err
		}
		open = append(open, f)
		if _, err := f.Write(ring.Entry(i)); err != nil {
			return 0, errors.Join(err, syncAll(open, false))
		}
		if len(open) >= max(every, 1) || i == messages-1 {
			if err := syncAll(open, every > 0); err != nil {
				return 0, err
			}
			open = open[:0]
		}
	}
	return float64(messages) / time.Since(start).Seconds(), nil
}

// syncAll closes files, after fsyncing them and each of their folders where that is wanted.
func syncAll(files []*os.File, sync bool) (err error) {
	folders := map[string]bool{}
	for _, f := range files {
		if sync {
			err = errors.Join(err, f.Sync())
			folders[filepath.Dir(f.Name())] = true
		}
		err = errors.Join(err, f.Close())
	}
	for folder := range folders {
		d, oerr := os.Open(folder)
		if oerr != nil {
			err = errors.Join(err, oerr)
			continue
		}
		err = errors.Join(err, d.Sync(), d.Close())
	}
	return err
}
