package storage

import (
	"slices"
	"strings"
	"sync"

	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// nameIndex resolves topic names to ids. It holds every topic's name in memory: some hundred bytes a topic.
type nameIndex struct {
	mu  sync.RWMutex
	ids map[string]uint64
}

func (n *nameIndex) load(r pebble.Reader) error {
	n.ids = map[string]uint64{}
	return eachTopic(r, func(h TopicHead) error {
		n.ids[h.Name] = h.ID
		return nil
	})
}

func (n *nameIndex) id(name string) (uint64, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	id, ok := n.ids[name]
	return id, ok
}

func (n *nameIndex) set(name string, id uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids[name] = id
}

func (n *nameIndex) remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.ids, name)
}

func (n *nameIndex) list(ns wire.NamespaceName) []wire.TopicName {
	prefix := wire.Persistent.String() + "://"
	if ns != (wire.NamespaceName{}) {
		prefix += ns.String() + "/"
	}
	n.mu.RLock()
	var names []string
	for name := range n.ids {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	n.mu.RUnlock()
	slices.Sort(names)
	out := make([]wire.TopicName, 0, len(names))
	for _, name := range names {
		if t, err := wire.ParseTopic(name); err == nil {
			out = append(out, t)
		}
	}
	return out
}

// maxNameLen bounds names so that every key stays far below Pebble's limit.
const maxNameLen = 4096

func checkName(name string) error {
	if name == "" || len(name) > maxNameLen {
		return ErrBadName
	}
	return nil
}
