package bucket

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// folder completes the URL of a folder and returns its path: it holds objects only, and temporary files lie in it, because
// a rename from another file system fails. It must exist: to make one where a mount is missing would fill the wrong disk.
func folder(u *url.URL) (string, error) {
	q := u.Query()
	if q.Get("prefix") != "" {
		return "", errors.New("open bucket: a folder takes no prefix; name the folder below it")
	}
	q.Set("no_tmp_dir", "true")
	q.Set("metadata", "skip")
	u.RawQuery = q.Encode()
	path := u.Path
	if u.Host == "." {
		path = "." + path
	}
	return filepath.FromSlash(path), nil
}

// makeDurable syncs an object: the driver leaves that to the system, and the local entries are deleted next. Names of
// objects are also names of files, in a folder each.
func makeDurable(folder, name string) error {
	path := filepath.Join(folder, filepath.FromSlash(name))
	for _, p := range []string{path, filepath.Dir(path), folder} {
		if err := syncFile(p); err != nil {
			return fmt.Errorf("make object %s durable: %w", name, err)
		}
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
