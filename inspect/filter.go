package inspect

import (
	"maps"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// Filter chooses messages by what is in them. The zero value means all; what
// is given must all match.
type Filter struct {
	Key        string            // exact
	Producer   string            // exact
	Properties map[string]string // each with exactly this value
	Grep       *regexp.Regexp    // somewhere in payload, key, or a property's name or value
}

func (f Filter) empty() bool {
	return f.Key == "" && f.Producer == "" && len(f.Properties) == 0 && f.Grep == nil
}

// entry reports whether messages of an entry may pass, from what costs nothing
// to look at.
func (f Filter) entry(d *decoded) bool {
	return d.err != nil || f.Producer == "" || string(d.meta.ProducerName) == f.Producer
}

// Match reports whether a message passes.
func (f Filter) Match(m *Message) bool {
	if f.Key != "" && (m.Key == nil || *m.Key != f.Key) {
		return false
	}
	if f.Producer != "" && (m.Producer == nil || *m.Producer != f.Producer) {
		return false
	}
	for k, v := range f.Properties {
		if have, ok := m.Properties[k]; !ok || have != v {
			return false
		}
	}
	return f.Grep == nil || f.grep(m)
}

func (f Filter) grep(m *Message) bool {
	if f.Grep.Match(m.Payload) || (m.Key != nil && f.Grep.MatchString(*m.Key)) {
		return true
	}
	for k, v := range maps.All(m.Properties) {
		if f.Grep.MatchString(k) || f.Grep.MatchString(v) {
			return true
		}
	}
	return false
}

// printable reports whether b is text that a terminal can show as it is.
func printable(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, r := range string(b) {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
	}
	return true
}
