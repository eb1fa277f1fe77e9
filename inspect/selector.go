package inspect

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"spoolctl/storage"
	"spoolctl/wire"
)

// Selector chooses topics. The zero value means all.
type Selector struct {
	// Globs are topic names or patterns: t, t*, tenant/ns/*, or with the
	// domain. * and ? stay inside one part of the name; a lone * is all topics.
	Globs []string
	// Regex must match somewhere in the full name.
	Regex *regexp.Regexp
}

// NotFoundError says that nothing has a name that was asked for.
type NotFoundError struct {
	What  string   // "topic", "subscription", "ledger", "entry", "message"
	Name  string   //
	Known []string // names that come near
}

// Error implements error.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s %s is not in the spool", e.What, e.Name)
}

// choose reads the chosen topics' heads, sorted by name.
func (s *Session) choose(ctx context.Context, sel Selector) ([]storage.TopicHead, error) {
	all, err := s.heads(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b storage.TopicHead) int { return strings.Compare(a.Name, b.Name) })
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = h.Name
	}
	chosen, err := sel.pick(names)
	if err != nil {
		return nil, err
	}
	out := make([]storage.TopicHead, len(chosen))
	for i, at := range chosen {
		out[i] = all[at]
	}
	return out, nil
}

// Match returns those of full topic names that are chosen; that a pattern
// matches none is no error.
func (sel Selector) Match(names []string) (out []string, err error) {
	globs, err := sel.globs()
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if sel.takes(globs, n, func(int) {}) {
			out = append(out, n)
		}
	}
	return out, nil
}

// globs are the patterns in full.
func (sel Selector) globs() ([]string, error) {
	out := make([]string, len(sel.Globs))
	for i, g := range sel.Globs {
		var err error
		if out[i], err = completeGlob(g); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// takes reports whether a name is chosen, and tells which patterns match it.
func (sel Selector) takes(globs []string, name string, matched func(i int)) bool {
	take := len(globs) == 0
	for i, g := range globs {
		if matchTopic(g, name) {
			take = true
			matched(i)
		}
	}
	return take && (sel.Regex == nil || sel.Regex.MatchString(name))
}

// pick returns the indexes of the chosen ones of full topic names.
func (sel Selector) pick(all []string) (out []int, err error) {
	globs, err := sel.globs()
	if err != nil {
		return nil, err
	}
	matched := make([]bool, len(globs))
	for at, name := range all {
		if sel.takes(globs, name, func(i int) { matched[i] = true }) {
			out = append(out, at)
		}
	}
	for i, ok := range matched {
		if !ok {
			return nil, &NotFoundError{What: "topic", Name: sel.Globs[i], Known: near(globs[i], all)}
		}
	}
	return out, nil
}

// completeGlob adds what a short name leaves out.
func completeGlob(g string) (string, error) {
	full := g
	switch {
	case g == "*" || g == "**":
		return "**", nil
	case strings.Contains(g, "://"):
	case strings.Count(g, "/") == 0:
		full = wire.Persistent.String() + "://public/default/" + g
	case strings.Count(g, "/") == 1: // a namespace
		full = wire.Persistent.String() + "://" + g + "/*"
	default:
		full = wire.Persistent.String() + "://" + g
	}
	if _, err := path.Match(full, ""); err != nil {
		return "", fmt.Errorf("topic pattern %q: %w", g, err)
	}
	return full, nil
}

// matchTopic also lets the name of a partitioned topic stand for its
// partitions.
func matchTopic(glob, name string) bool {
	if glob == "**" || glob == name {
		return true
	}
	if t, err := wire.ParseTopic(name); err == nil && t.Partition() >= 0 && t.Base().String() == glob {
		return true
	}
	return globMatches(glob, name)
}

func globMatches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil
}

// near lists topics whose last part resembles the name.
func near(glob string, all []string) (out []string) {
	want := strings.ToLower(glob[strings.LastIndexByte(glob, '/')+1:])
	for _, name := range all {
		have := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
		if want != "" && (have == want || strings.HasPrefix(have, want) || strings.HasPrefix(want, have) || oneEdit(want, have)) {
			if out = append(out, name); len(out) == 5 {
				break
			}
		}
	}
	return out
}

// oneEdit reports whether two names differ in one letter, or two that are
// swapped.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		return i < len(a) && (a[i+1:] == b[i+1:] || (i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]))
	case 1:
		return a[i:] == b[i+1:]
	}
	return false
}

// eachTopic calls each for the chosen topics that can be read.
func (s *Session) eachTopic(ctx context.Context, sel Selector, each func(*storage.TopicView) error) error {
	return s.eachLoaded(ctx, sel, (*storage.Spool).Topic, each)
}

// eachBrief is eachTopic for what asks for counts and cursors; the time does not depend on how much the topics hold.
func (s *Session) eachBrief(ctx context.Context, sel Selector, each func(*storage.TopicView) error) error {
	return s.eachLoaded(ctx, sel, (*storage.Spool).Brief, each)
}

func (s *Session) eachLoaded(ctx context.Context, sel Selector, read func(*storage.Spool, uint64) (*storage.TopicView, error), each func(*storage.TopicView) error) error {
	heads, err := s.choose(ctx, sel)
	if err != nil {
		return err
	}
	for _, h := range heads {
		t, err := s.load(ctx, h, read)
		if err != nil {
			return err
		}
		if t != nil {
			if err := each(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// oneTopic reads the one topic of that name.
func (s *Session) oneTopic(ctx context.Context, name string) (*storage.TopicView, error) {
	heads, err := s.choose(ctx, Selector{Globs: []string{name}})
	if err != nil {
		return nil, err
	}
	if len(heads) > 1 {
		known := make([]string, 0, 5)
		for _, h := range heads[:min(5, len(heads))] {
			known = append(known, h.Name)
		}
		return nil, &NotFoundError{What: "a single topic", Name: name, Known: known}
	}
	t, err := s.topic(ctx, heads[0])
	if err == nil && t == nil {
		err = &NotFoundError{What: "a readable topic", Name: name}
	}
	return t, err
}

// cursorOf finds a subscription of a topic.
func cursorOf(t *storage.TopicView, sub string) (*storage.CursorState, error) {
	c := t.Cursor(sub)
	if c == nil {
		e := &NotFoundError{What: "subscription", Name: sub + " of " + t.Name}
		for _, c := range t.Cursors[:min(5, len(t.Cursors))] {
			e.Known = append(e.Known, c.Name)
		}
		return nil, e
	}
	return c, nil
}
