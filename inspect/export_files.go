package inspect

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"spoolctl/storage"
	"spoolctl/wire"
)

// ErrNotEmpty says that a folder for an export holds something already.
var ErrNotEmpty = errors.New("the folder is not empty")

// FilesTotals count what ExportFiles wrote.
type FilesTotals struct {
	Topics   int   `json:"topics" col:"TOPICS" fmt:"count"`
	Messages int64 `json:"messages" col:"MESSAGES" fmt:"count"`
	Bytes    int64 `json:"bytes" col:"BYTES" fmt:"bytes"`
}

// IndexName is the file of a topic's folder that holds a line of JSON for each
// message: its MessageHead.
const IndexName = "index.ndjson"

// ExportFiles writes one file for each message: DIR/tenant/namespace/topic/
// holds the payloads and an index. dir must be empty or not exist.
func (s *Session) ExportFiles(ctx context.Context, dir string, o MessagesOptions, progress func(what string, done, total int64)) (out FilesTotals, err error) {
	if names, err := os.ReadDir(dir); err == nil && len(names) > 0 {
		return out, fmt.Errorf("%s: %w", dir, ErrNotEmpty)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	views, err := s.views(ctx, o.Selector)
	if err != nil {
		return out, err
	}
	for _, t := range views {
		f, err := newTopicFolder(dir, t.Name)
		if err != nil {
			return out, err
		}
		for m, err := range s.messages(ctx, []*storage.TopicView{t}, o).Rows {
			if err == nil {
				err = f.write(m)
			}
			if err != nil {
				return out, errors.Join(err, f.close())
			}
			out.Messages++
			out.Bytes += int64(len(m.Payload))
			if progress != nil {
				progress("messages", out.Messages, 0)
			}
		}
		if err := f.close(); err != nil {
			return out, err
		}
		out.Topics++
	}
	return out, nil
}

// topicFolder is the folder of one topic while it is written.
type topicFolder struct {
	dir   string
	index *os.File
	buf   *bufio.Writer
}

func newTopicFolder(dir, topic string) (*topicFolder, error) {
	path := filepath.Join(dir, fileName(topic))
	if n, err := wire.ParseTopic(topic); err == nil {
		ns := n.NamespaceName()
		path = filepath.Join(dir, fileName(ns.Tenant), fileName(ns.Namespace), fileName(n.Local))
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(path, IndexName))
	if err != nil {
		return nil, err
	}
	return &topicFolder{dir: path, index: f, buf: bufio.NewWriter(f)}, nil
}

// fileName makes a file's name of any text: one that stays in its folder.
func fileName(s string) string {
	if s = url.PathEscape(s); strings.Trim(s, ".") == "" {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return s
}

func (f *topicFolder) write(m Message) error {
	line, err := json.Marshal(m.MessageHead)
	if err != nil {
		return err
	}
	if _, err := f.buf.Write(append(line, '\n')); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.dir, FileName(m.MessageHead)), m.Payload, 0o644)
}

func (f *topicFolder) close() error { return errors.Join(f.buf.Flush(), f.index.Close()) }
