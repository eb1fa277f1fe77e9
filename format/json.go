package format

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"unicode/utf8"
)

// appendJSON writes a tree as JSON. indent "" gives one line.
func appendJSON(dst []byte, tree any, prefix, indent string) []byte {
	switch v := tree.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		return append(dst, v...)
	case string:
		return appendString(dst, v)
	case []any:
		if len(v) == 0 {
			return append(dst, "[]"...)
		}
		dst = append(dst, '[')
		for i, item := range v {
			dst = separate(dst, i, prefix+indent, indent)
			dst = appendJSON(dst, item, prefix+indent, indent)
		}
		return append(closeLine(dst, prefix, indent), ']')
	case *object:
		if len(v.keys) == 0 {
			return append(dst, "{}"...)
		}
		dst = append(dst, '{')
		for i, key := range v.keys {
			dst = separate(dst, i, prefix+indent, indent)
			dst = append(appendString(dst, key), ':')
			if indent != "" {
				dst = append(dst, ' ')
			}
			dst = appendJSON(dst, v.vals[key], prefix+indent, indent)
		}
		return append(closeLine(dst, prefix, indent), '}')
	}
	return append(dst, "null"...)
}

func separate(dst []byte, i int, prefix, indent string) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return closeLine(dst, prefix, indent)
}

func closeLine(dst []byte, prefix, indent string) []byte {
	if indent == "" {
		return dst
	}
	return append(append(dst, '\n'), prefix...)
}

// appendString escapes more than JSON demands: also DEL, the C1 controls and
// the invisible direction marks, which a terminal would obey.
func appendString(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return append(dst, `""`...)
	}
	quoted := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	for len(quoted) > 0 {
		r, n := utf8.DecodeRune(quoted)
		if n > 1 && isHidden(r) || r == 0x7f {
			dst = append(dst, `\u`...)
			hex := strconv.FormatInt(int64(r), 16)
			for range 4 - len(hex) {
				dst = append(dst, '0')
			}
			dst = append(dst, hex...)
		} else {
			dst = append(dst, quoted[:n]...)
		}
		quoted = quoted[n:]
	}
	return dst
}

func plainNumber(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return int(i)
	}
	if b, ok := new(big.Int).SetString(n.String(), 10); ok {
		return b
	}
	f, err := n.Float64()
	if err != nil {
		return nil
	}
	return f
}
