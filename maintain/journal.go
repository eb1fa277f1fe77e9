package maintain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
)

// journal is SPOOL/journal.json: there while a run works on the spool. It is written before anything else and removed
// after everything else.
type journal struct {
	ID         string    `json:"id"`
	Verb       string    `json:"verb"`
	Started    time.Time `json:"started"`
	Checkpoint string    `json:"checkpoint"` // name for the old state; empty: it is removed
}

func (j *journal) write(dir string) error {
	b, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	err = renameio.WriteFile(filepath.Join(dir, journalName), append(b, '\n'), 0o600, renameio.WithTempDir(dir))
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return syncDir(dir)
}

// readJournal returns nil when no run was interrupted.
func readJournal(dir string) (*journal, error) {
	b, err := os.ReadFile(filepath.Join(dir, journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	var j journal
	if err := json.Unmarshal(b, &j); err != nil || j.ID == "" || j.Checkpoint != filepath.Base(j.Checkpoint) && j.Checkpoint != "" {
		return nil, errors.Join(fmt.Errorf("%s is not a journal of spoolctl: look at it, then remove it", filepath.Join(dir, journalName)), err)
	}
	return &j, nil
}

// remove ends a run.
func (j *journal) remove(dir string) error {
	if err := os.Remove(filepath.Join(dir, journalName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(dir)
}

// mark notes in a database's folder which run made it.
func (j *journal) mark(store string) error {
	path := filepath.Join(store, markerName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := writeFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, j.ID+"\n")
		return err
	})
	return errors.Join(err, syncDir(store))
}

// marked reports whether this run made the database in store.
func (j *journal) marked(store string) bool {
	b, err := os.ReadFile(filepath.Join(store, markerName))
	return err == nil && string(b) == j.ID+"\n"
}
