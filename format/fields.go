package format

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// fieldsOf gives the lines of a single object: columns by the struct's tags
// where v is a struct, the leaves of the tree otherwise. All fields are there.
func fieldsOf(v any, tree *object) ([]column, error) {
	if v != nil {
		if t := elemOf(reflect.TypeOf(v)); t.Kind() == reflect.Struct && !isLeaf(t) {
			return columnsOf(t)
		}
	}
	var cols []column
	leaves(tree, nil, func(path []string, val any) {
		name := strings.Join(path, ".")
		_, right := val.(json.Number)
		cols = append(cols, column{name: name, path: path, header: name, right: right})
	})
	if len(cols) > 0 {
		cols[0].key = true
	}
	return cols, nil
}

// leaves visits the fields that hold no further fields; a list of objects
// stays one value.
func leaves(o *object, path []string, visit func([]string, any)) {
	for _, k := range o.keys {
		at := append(append([]string{}, path...), k)
		if inner, ok := o.vals[k].(*object); ok && len(inner.keys) > 0 {
			leaves(inner, at, visit)
			continue
		}
		visit(at, o.vals[k])
	}
}

// nestedColumns is how many columns a list inside an object may have to be
// shown as a table of its own.
const nestedColumns = 10

// writeFields prints one "NAME  value" line per field. Below them every list
// of structs is a small table under its name; one with too many columns is a
// block of lines per item instead.
func (p *Printer) writeFields(cols []column, tree *object) error {
	var rows [][]string
	var tables []nested
	for _, c := range cols {
		t, ok, err := p.nested(c, tree)
		switch {
		case err != nil:
			return err
		case ok:
			tables = append(tables, t)
		default:
			rows = p.fieldRows(rows, c.header, c.value(tree), c.unit)
		}
	}
	if err := p.writePairs(rows); err != nil {
		return err
	}
	for i, t := range tables {
		if i > 0 || len(rows) > 0 {
			if err := p.line(""); err != nil {
				return err
			}
		}
		if err := p.writeNested(t); err != nil {
			return err
		}
	}
	return nil
}

func (p *Printer) writePairs(rows [][]string) error {
	switch {
	case len(rows) == 0:
		return nil
	case p.o.Format == "markdown":
		return p.markdown([]string{"FIELD", "VALUE"}, rows, make([]bool, 2))
	}
	text, err := layOut(nil, rows, make([]column, 2))
	if err != nil {
		return err
	}
	_, err = p.out.WriteString(text)
	return OutputError(err)
}

// nested is a list inside an object.
type nested struct {
	title string
	cols  []column
	items []any
}

// nested gives a field as a table of its own, when it is a list of structs
// that is not empty and not too wide.
func (p *Printer) nested(c column, tree *object) (nested, bool, error) {
	items, ok := c.value(tree).([]any)
	if c.items == nil || !ok || len(items) == 0 {
		return nested{}, false, nil
	}
	all, err := columnsOf(c.items)
	if err != nil {
		return nested{}, false, err
	}
	n := nested{title: c.header, items: items}
	for _, inner := range all {
		if !inner.wide || p.o.Format == "wide" {
			n.cols = append(n.cols, inner)
		}
	}
	return n, len(n.cols) <= nestedColumns, nil
}

// nestedIndent stands before the lines of a nested table.
const nestedIndent = "  "

func (p *Printer) writeNested(n nested) error {
	head, right := make([]string, len(n.cols)), make([]bool, len(n.cols))
	for i, c := range n.cols {
		head[i], right[i] = c.header, c.right
	}
	rows := make([][]string, len(n.items))
	for i, item := range n.items {
		for _, c := range n.cols {
			rows[i] = append(rows[i], cell(c.value(item), c.unit, p.o.Now()))
		}
	}
	if p.o.Format == "markdown" {
		if err := p.line("**" + n.title + "**\n"); err != nil {
			return err
		}
		return p.markdown(head, rows, right)
	}
	if p.o.NoHeaders {
		head = nil
	}
	text, err := layOut(head, rows, n.cols)
	if err != nil {
		return err
	}
	if err := p.line(n.title); err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if _, err := p.out.WriteString(nestedIndent + line); err != nil {
			return OutputError(err)
		}
	}
	return nil
}

func (p *Printer) fieldRows(rows [][]string, label string, val any, unit string) [][]string {
	switch v := val.(type) {
	case *object:
		if len(v.keys) > 0 {
			for _, k := range v.keys {
				rows = p.fieldRows(rows, label+"."+k, v.vals[k], "")
			}
			return rows
		}
	case []any:
		nested := false
		for _, item := range v {
			_, isObject := item.(*object)
			nested = nested || isObject
		}
		if nested {
			for i, item := range v {
				rows = p.fieldRows(rows, fmt.Sprintf("%s[%d]", label, i), item, unit)
			}
			return rows
		}
	}
	return append(rows, []string{Clean(label), cell(val, unit, p.o.Now())})
}
