package format

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Clean makes one line of s safe for a terminal: control characters, invisible
// direction marks and invalid UTF-8 become visible escapes such as \x1b or
// \u202e. Text without them is returned as it is.
func Clean(s string) string { return clean(s, false) }

// CleanLines is Clean that lets line feeds and tabs through.
func CleanLines(s string) string { return clean(s, true) }

func clean(s string, lines bool) string {
	ok := true
	for i, r := range s {
		if (r < ' ' && !(lines && (r == '\n' || r == '\t'))) || r == 0x7f || isHidden(r) ||
			r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			ok = false
			break
		}
	}
	if ok {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case isHidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isHidden reports characters beyond ASCII that steer a terminal or a reader
// without being seen: C1 controls, line separators, direction overrides, BOM.
func isHidden(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f,
		r == 0x200e, r == 0x200f,
		r == 0x2028, r == 0x2029,
		r >= 0x202a && r <= 0x202e,
		r >= 0x2066 && r <= 0x2069,
		r == 0xfeff:
		return true
	}
	return false
}

// dropVariation removes variation selector 16. Terminals disagree about the
// width of "⚠️" with it and agree about "⚠" without it.
func dropVariation(s string) string { return strings.ReplaceAll(s, "\uFE0F", "") }

// Plain is Clean for one cell of a screen that counts cells: it also removes what makes terminals disagree about widths.
func Plain(s string) string { return dropVariation(Clean(s)) }
