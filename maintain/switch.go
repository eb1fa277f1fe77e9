package maintain

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// oldName holds the old database below staging while the two change places where the system cannot exchange them.
const oldName = "old"

// switchOver puts the staged database in the place of the spool's, which becomes the staged one. Where that takes several
// renames, completeSwitch finishes what a kill interrupted.
func (o *Options) switchOver() error {
	now, staged := storeDir(o.Dir), storeDir(o.staging())
	atomically, err := o.exchange(now, staged)
	if err != nil {
		return err
	}
	if !atomically {
		if err := o.step("set aside"); err != nil {
			return err
		}
		if err := os.Rename(now, filepath.Join(o.staging(), oldName)); err != nil {
			return err
		}
		if err := o.step("put in place"); err != nil {
			return err
		}
		return o.completeSwitch()
	}
	return errors.Join(syncDir(o.Dir), syncDir(o.staging()))
}

// completeSwitch finishes the renames of a switch, from whichever it has come to.
func (o *Options) completeSwitch() error {
	now, staged, old := storeDir(o.Dir), storeDir(o.staging()), filepath.Join(o.staging(), oldName)
	if !exists(old) {
		return nil
	}
	if !exists(now) {
		if err := os.Rename(staged, now); err != nil {
			return err
		}
		if err := o.step("keep old"); err != nil {
			return err
		}
	}
	if err := os.Rename(old, staged); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(syncDir(o.Dir), syncDir(o.staging()))
}

func (o *Options) staging() string { return filepath.Join(o.Dir, stagingName) }
