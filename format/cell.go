package format

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// previewRunes bounds a payload shown in a table cell.
const previewRunes = 64

// cell is a value as a table shows it, in one safe line. now is the moment
// that ages count from.
func cell(val any, unit string, now time.Time) string {
	switch v := val.(type) {
	case nil:
		return Unknown
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return numberCell(v, unit)
	case string:
		return stringCell(v, unit, now)
	case []any:
		return listCell(v, unit, now)
	case *object:
		if len(v.keys) == 0 {
			return "-"
		}
		return Clean(string(appendJSON(nil, v, "", "")))
	}
	return Unknown
}

func numberCell(n json.Number, unit string) string {
	f, err := n.Float64()
	if err != nil {
		return n.String()
	}
	i, ierr := n.Int64()
	switch unit {
	case "bytes":
		if ierr != nil {
			i = int64(min(f, math.MaxInt64))
		}
		return Size(i)
	case "count":
		if ierr == nil {
			return Count(i)
		}
	case "rate":
		return Rate(f)
	case "seconds":
		return seconds(f)
	case "millis":
		return seconds(f / 1e3)
	case "percent":
		return strconv.FormatFloat(f*100, 'f', 1, 64) + "%"
	}
	if ierr == nil {
		return n.String()
	}
	if math.Abs(f) >= 1e15 {
		return n.String()
	}
	return trimZeros(strconv.FormatFloat(f, 'f', 3, 64))
}

func seconds(f float64) string {
	if math.Abs(f) > math.MaxInt64/1e9 {
		return Unknown
	}
	return Duration(time.Duration(f * 1e9))
}

func stringCell(s, unit string, now time.Time) string {
	switch unit {
	case "age":
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
			return Age(t, now)
		}
	case "time":
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
			return t.Format(time.RFC3339)
		}
	case "preview":
		if b, err := base64.StdEncoding.DecodeString(s); err == nil {
			return Preview(b)
		}
	}
	return dropVariation(Clean(s))
}

// Preview shows the start of a payload: text as text, anything else as hex. A
// cut is marked with an ellipsis.
func Preview(b []byte) string {
	head := b[:min(len(b), previewRunes*utf8.UTFMax)]
	text := string(head)
	if !isText(head, len(head) < len(b)) || strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r'
	}) {
		n := min(len(b), previewRunes/2)
		out := "0x" + hex.EncodeToString(b[:n])
		if n < len(b) {
			out += "…"
		}
		return out
	}
	runes := []rune(strings.ToValidUTF8(text, ""))
	if len(runes) > previewRunes {
		return dropVariation(Clean(string(runes[:previewRunes]))) + "…"
	}
	if len(head) < len(b) {
		return dropVariation(Clean(string(runes))) + "…"
	}
	return dropVariation(Clean(string(runes)))
}

// isText reports valid UTF-8; of a text that was cut the last character may be incomplete.
func isText(b []byte, cut bool) bool {
	if cut {
		for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
			if utf8.RuneStart(b[len(b)-i]) {
				if !utf8.FullRune(b[len(b)-i:]) {
					b = b[:len(b)-i]
				}
				break
			}
		}
	}
	return utf8.Valid(b)
}

func listCell(list []any, unit string, now time.Time) string {
	if len(list) == 0 {
		return "-"
	}
	parts := make([]string, len(list))
	for i, item := range list {
		parts[i] = cell(item, unit, now)
	}
	return strings.Join(parts, ",")
}

// rawCell is a value as csv and tsv carry it: numbers and times unrounded,
// unknown as the empty field.
func rawCell(val any) string {
	switch v := val.(type) {
	case nil:
		return ""
	case string:
		return CleanLines(v)
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		scalars := make([]string, len(v))
		for i, item := range v {
			switch item.(type) {
			case []any, *object:
				return string(appendJSON(nil, val, "", ""))
			}
			scalars[i] = rawCell(item)
		}
		return strings.Join(scalars, ",")
	}
	return string(appendJSON(nil, val, "", ""))
}

// compare orders two values of one column: numbers by value, text by bytes
// with runs of digits by value. Unknown sorts after everything.
func compare(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(btoi(a == nil), btoi(b == nil))
	}
	switch x := a.(type) {
	case json.Number:
		if y, ok := b.(json.Number); ok {
			return compareNumbers(x, y)
		}
	case bool:
		if y, ok := b.(bool); ok {
			return cmp.Compare(btoi(x), btoi(y))
		}
	case string:
		if y, ok := b.(string); ok {
			return natural(x, y)
		}
	}
	return strings.Compare(rawCell(a), rawCell(b))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func compareNumbers(a, b json.Number) int {
	x, xerr := a.Int64()
	y, yerr := b.Int64()
	if xerr == nil && yerr == nil {
		return cmp.Compare(x, y)
	}
	f, _, ferr := big.ParseFloat(a.String(), 10, 128, big.ToNearestEven)
	g, _, gerr := big.ParseFloat(b.String(), 10, 128, big.ToNearestEven)
	if ferr != nil || gerr != nil {
		return strings.Compare(a.String(), b.String())
	}
	return f.Cmp(g)
}

// natural compares text so that t-partition-2 comes before t-partition-10.
func natural(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if c := cmp.Compare(len(x), len(y)); c != 0 {
				return c
			}
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
