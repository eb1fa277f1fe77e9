package inspect

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"spoolctl/storage"
	"spoolctl/wire"
)

// redactor replaces the names that people gave by hashes: the same name by the
// same hash in one spool, by others in another.
type redactor struct {
	key  []byte // of the hashes: the spool's uuid
	text *strings.Replacer
}

// redactor collects all names of the spool.
func (s *Session) redactor(ctx context.Context) (*redactor, error) {
	r := &redactor{key: []byte(s.source.UUID)}
	names := map[string]bool{s.o.Dir: true, s.dir: true}
	add := func(all ...string) {
		for _, n := range all {
			names[n] = n != ""
		}
	}
	err := s.eachTopic(ctx, Selector{}, func(t *storage.TopicView) error {
		if n, err := wire.ParseTopic(t.Name); err == nil {
			add(n.NamespaceName().Tenant, n.NamespaceName().Namespace, n.Local, n.Base().Local)
		}
		for _, c := range t.Cursors {
			add(c.Name)
		}
		add(sortedKeys(t.Producers)...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, kind := range []storage.Kind{storage.KindTenant, storage.KindNamespace, storage.KindPartitioned, storage.KindTopicPolicies, storage.KindSchemas} {
		paths, err := s.spool.ResourcePaths(kind, "")
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			_, rest, _ := strings.Cut(p, "://")
			add(strings.SplitN(cmp.Or(rest, p), "/", 3)...)
		}
	}
	delete(names, "")
	list := sortedKeys(names)
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // the longest first
	pairs := make([]string, 0, 2*len(list))
	for _, n := range list {
		pairs = append(pairs, n, r.hash(n))
	}
	r.text = strings.NewReplacer(pairs...)
	return r, nil
}

func (r *redactor) hash(name string) string {
	h := hmac.New(sha256.New, r.key)
	_, _ = h.Write([]byte(name)) // never fails
	return "x" + hex.EncodeToString(h.Sum(nil))[:10]
}

// tree redacts a decoded JSON document. under is the name of the field that v
// stands in.
func (r *redactor) tree(under string, v any) any {
	if slices.Contains(written(), under) {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = r.tree(k, x)
		}
	case []any:
		for i, x := range v {
			v[i] = r.tree(under, x)
		}
	case string:
		return r.string(under, v)
	}
	return v
}

// written are fields that hold what people wrote themselves.
func written() []string {
	return []string{"properties", "positionProperties", "definition", "value", "user"}
}

// plainFields are fields whose texts are this program's own words.
func plainFields() []string {
	return []string{
		"family", "kind", "state", "level", "check", "mode", "created", "closed", "modified", "firstPublish", "lastPublish", "changed", "registered",
		"type", "compression", "program", "written", "uuid", "file", "messageId", "markDelete", "lower", "upper", "cleanStop", "lastWrite", "oldest",
		"oldestPublish", "newestPublish", "oldestUnacked", "lastActive", "policy", "policies",
	}
}

func (r *redactor) string(under, s string) string {
	if slices.Contains(plainFields(), under) {
		return s
	}
	return r.text.Replace(s)
}
