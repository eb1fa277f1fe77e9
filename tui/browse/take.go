package browse

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"spoolctl/format"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// mostCopied is how many bytes are copied at most: terminals drop clipboard sequences beyond some 100 kB of base64.
const mostCopied = 64 << 10

// copy asks the terminal to put what is selected into its clipboard.
func (m *model) copy() tea.Cmd {
	text, what := m.page().selected()
	switch {
	case text == "":
		m.note = "nothing is selected"
		return nil
	case len(text) > mostCopied:
		m.note, m.bad = fmt.Sprintf("%s has %s, too much for a clipboard: export the page instead", what, format.Size(int64(len(text)))), true
		return nil
	}
	return func() tea.Msg {
		if _, err := io.WriteString(m.o.Out, ansi.SetSystemClipboard(text)); err != nil {
			return noted{text: format.Plain(err.Error()), bad: true}
		}
		return noted{text: fmt.Sprintf("%s is copied, if the terminal takes it (OSC 52): %s", what, format.Size(int64(len(text))))}
	}
}

// export writes the page into a new file.
func (m *model) export() tea.Cmd {
	if !m.page().ready() {
		m.note = "nothing to export yet"
		return nil
	}
	what, print := m.page().document()
	name := "spoolctl-" + what + "-" + m.now().UTC().Format("20060102-150405.000") + ".json"
	return func() tea.Msg {
		path := filepath.Join(m.o.WorkDir, name)
		if err := writeNew(m.o.Dir, path, print); err != nil {
			return noted{text: "not exported: " + format.Plain(err.Error()), bad: true}
		}
		return noted{text: "exported to " + name + " in " + format.Plain(m.o.WorkDir)}
	}
}

// writeNew writes a document into a file that must not exist and must not be inside the spool.
func writeNew(spool, path string, print func(*format.Printer) error) (err error) {
	inside, err := isInside(filepath.Dir(path), spool)
	if err != nil {
		return err
	}
	if inside {
		return errors.New("the working directory is inside the spool, and nothing is written there: start spoolctl elsewhere")
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already", filepath.Base(path))
	}
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	p, err := format.New(f, io.Discard, format.Options{Format: "json"})
	if err != nil {
		return err
	}
	return print(p)
}

// isInside reports whether a folder is another one or below it, by whatever path.
func isInside(dir, other string) (bool, error) {
	outer, err := os.Stat(other)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if dir, err = filepath.Abs(dir); err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	for err == nil {
		info, serr := os.Stat(dir)
		if serr != nil {
			return false, serr
		}
		if os.SameFile(info, outer) {
			return true, nil
		}
		if dir == filepath.Dir(dir) {
			return false, nil
		}
		dir = filepath.Dir(dir)
	}
	return false, err
}
