package format

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// column is one field of a result struct as a table sees it.
type column struct {
	name   string       // dotted JSON path; the header of csv and tsv
	path   []string     // the same, in parts
	header string       // the header of tables
	unit   string       // the fmt tag
	wide   bool         // shown by -o wide only
	key    bool         // what -o name prints
	right  bool         // numbers stand on the right
	items  reflect.Type // of a list of structs: the struct; else nil
}

// nestLevels bounds how deep structs inside structs become columns of their
// own; below that a cell holds JSON.
const nestLevels = 3

// columnsOf derives the columns of T. A type that is not a struct is one
// column named "value".
func columnsOf(t reflect.Type) ([]column, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || isLeaf(t) {
		return []column{{name: "value", header: "VALUE", key: true, right: isNumber(t)}}, nil
	}
	cols, err := structColumns(t, nil, "", false, 0)
	if err != nil {
		return nil, err
	}
	narrow, key := false, false
	for _, c := range cols {
		narrow = narrow || !c.wide
		key = key || c.key
	}
	for i := range cols {
		if !narrow {
			cols[i].wide = false
		}
	}
	if !key && len(cols) > 0 {
		cols[0].key = true
	}
	return cols, nil
}

func structColumns(t reflect.Type, path []string, prefix string, wide bool, depth int) ([]column, error) {
	var cols []column
	for i := range t.NumField() {
		f := t.Field(i)
		name, inline, ok := fieldName(f)
		if !ok {
			if f.Tag.Get("col") != "" {
				return nil, fmt.Errorf("field %s.%s has a column but no JSON", t, f.Name)
			}
			continue
		}
		ft := f.Type
		for ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		if inline {
			inner, err := structColumns(ft, path, prefix, wide, depth+1)
			if err != nil {
				return nil, err
			}
			cols = append(cols, inner...)
			continue
		}
		c := column{unit: f.Tag.Get("fmt"), path: append(append([]string{}, path...), name), wide: wide}
		c.name = strings.Join(c.path, ".")
		tag := f.Tag.Get("col")
		header, options, _ := strings.Cut(tag, ",")
		c.wide = c.wide || tag == "" || strings.Contains(options, "wide")
		c.key = strings.Contains(options, "name")
		c.header = header
		if header == "" {
			c.header = prefix + upperSnake(name)
		}
		if ft.Kind() == reflect.Struct && !isLeaf(ft) && depth < nestLevels {
			inner, err := structColumns(ft, c.path, c.header+".", wide || strings.Contains(options, "wide"), depth+1)
			if err != nil {
				return nil, err
			}
			cols = append(cols, inner...)
			continue
		}
		c.right = isNumber(ft) && c.unit != "plain" || c.unit == "age" || c.unit == "bytes" || c.unit == "rate" || c.unit == "count"
		if ft.Kind() == reflect.Slice {
			if item := elemOf(ft.Elem()); item.Kind() == reflect.Struct && !isLeaf(item) {
				c.items = item
			}
		}
		cols = append(cols, c)
	}
	return cols, nil
}

func elemOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// isLeaf reports struct types that print as one value.
func isLeaf(t reflect.Type) bool {
	return t == timeType || t.Implements(jsonType) || t.Implements(textType) ||
		reflect.PointerTo(t).Implements(jsonType)
}

func isNumber(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64
}

// upperSnake turns backlogBytes into BACKLOG_BYTES.
func upperSnake(s string) string {
	var b strings.Builder
	prev := ' '
	for _, r := range s {
		if unicode.IsUpper(r) && (unicode.IsLower(prev) || unicode.IsDigit(prev)) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
		prev = r
	}
	return b.String()
}

// matches compares a user's word with the column: JSON name or header, in any
// case.
func (c column) matches(word string) bool {
	return strings.EqualFold(word, c.name) || strings.EqualFold(word, c.header)
}

func findColumn(cols []column, word string) (column, error) {
	names := make([]string, len(cols))
	for i, c := range cols {
		if c.matches(word) {
			return c, nil
		}
		names[i] = c.name
	}
	return column{}, &Error{
		Kind: ErrUsage, Msg: fmt.Sprintf("no column %q", word),
		Hint: "columns: " + strings.Join(names, ", "),
	}
}

// value finds the column's value in a row's tree; a missing part is unknown.
func (c column) value(row any) any {
	if len(c.path) == 0 {
		return row
	}
	for _, key := range c.path {
		o, ok := row.(*object)
		if !ok {
			return nil
		}
		row = o.vals[key]
	}
	return row
}
