package browse

import (
	"strings"
	"time"

	"spoolctl/format"
	"spoolctl/wire"

	"github.com/charmbracelet/x/ansi"
)

// plural is a number with the right form of what is counted; the default for many adds an s.
func plural(n int64, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return format.Count(n) + " " + many[0]
	}
	return format.Count(n) + " " + one + "s"
}

// moment is a time as the tables of inspect show it.
func moment(t time.Time) string {
	if t.IsZero() {
		return format.Unknown
	}
	return t.UTC().Format(time.RFC3339)
}

// known is a text that may not be known.
func known(s *string) string {
	if s == nil {
		return format.Unknown
	}
	return format.Plain(*s)
}

// short is a topic's name without what most names begin with.
func short(topic string) string {
	return format.Plain(strings.TrimPrefix(topic, wire.Persistent.String()+"://"))
}

// exactly is a pattern for one topic: nothing in the name acts as a pattern, and no partition is meant along with it.
func exactly(topic string) string {
	var b strings.Builder
	for i := range len(topic) {
		if i == 0 || strings.IndexByte(`*?[\`, topic[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(topic[i])
	}
	return b.String()
}

// wrap breaks lines that are too long, between words.
func wrap(lines []string, width int) (out []string) {
	for _, l := range lines {
		line := ""
		for _, word := range strings.Split(l, " ") {
			if line != "" && ansi.StringWidth(line)+1+ansi.StringWidth(word) > width {
				out = append(out, line)
				line = word
				continue
			}
			if line != "" {
				word = " " + word
			}
			line += word
		}
		out = append(out, line)
	}
	return out
}
