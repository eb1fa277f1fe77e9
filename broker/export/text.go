package export

import (
	"io"
	"math"
	"strconv"
	"strings"
)

// chunk is about how much text is gathered before it is written, in bytes.
const chunk = 64 << 10

// writer writes a page of the Prometheus text format, version 0.0.4. The first error of out stops it.
type writer struct {
	out io.Writer
	b   []byte
	err error
}

func (w *writer) flush() {
	if w.err == nil {
		_, w.err = w.out.Write(w.b)
	}
	w.b = w.b[:0]
}

// family starts a family: all of its samples must follow.
func (w *writer) family(f *family) {
	w.b = append(w.b, "# HELP "...)
	w.b = append(w.b, f.name...)
	w.b = append(w.b, ' ')
	w.b = append(w.b, escapeHelp(f.help)...)
	w.b = append(w.b, "\n# TYPE "...)
	w.b = append(w.b, f.name...)
	w.b = append(w.b, ' ')
	w.b = append(w.b, f.kind...)
	w.b = append(w.b, '\n')
}

// sample writes one sample; labels is what stands between the braces, already escaped.
func (w *writer) sample(name, labels string, v float64) {
	w.b = append(w.b, name...)
	if labels != "" {
		w.b = append(w.b, '{')
		w.b = append(w.b, labels...)
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ' ')
	switch {
	case v == math.Trunc(v) && math.Abs(v) < 1<<53:
		w.b = strconv.AppendInt(w.b, int64(v), 10)
	default:
		w.b = strconv.AppendFloat(w.b, v, 'g', -1, 64)
	}
	w.b = append(w.b, '\n')
	if len(w.b) >= chunk {
		w.flush()
	}
}

// label renders one label pair after the given ones.
func label(before, name, value string) string {
	pair := name + `="` + escapeLabel(value) + `"`
	if before == "" {
		return pair
	}
	return before + "," + pair
}

func escapeLabel(s string) string {
	if !strings.ContainsAny(s, "\\\"\n") {
		return s
	}
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}

func escapeHelp(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(s)
}
