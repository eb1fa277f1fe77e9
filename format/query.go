package format

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/itchyny/gojq"
)

// compileJQ compiles an expression that sees neither environment nor files.
func compileJQ(expr string) (*gojq.Code, error) {
	q, err := gojq.Parse(expr)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(q, gojq.WithEnvironLoader(func() []string { return nil }))
}

// writeJQ prints each result of the expression on a line: strings as they are,
// everything else as JSON.
func (p *Printer) writeJQ(tree any) error {
	results := p.jq.RunWithContext(context.Background(), plain(tree))
	for {
		v, ok := results.Next()
		if !ok {
			return nil
		}
		if err, ok := v.(error); ok {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				return nil
			}
			return &Error{Msg: "jq", Err: err}
		}
		if s, ok := v.(string); ok {
			if err := p.line(CleanLines(s)); err != nil {
				return err
			}
			continue
		}
		b, err := gojq.Marshal(v)
		if err != nil {
			return &Error{Msg: "jq", Err: err}
		}
		if err := p.line(string(b)); err != nil {
			return err
		}
	}
}

// parseTemplate adds the unit functions of tables to text/template.
func parseTemplate(text string, now func() time.Time) (*template.Template, error) {
	unit := func(name string) func(any) string {
		return func(v any) string {
			tree, err := toTree(v)
			if err != nil {
				return Unknown
			}
			return cell(tree, name, now())
		}
	}
	text = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text)
	return template.New("output").Option("missingkey=error").Funcs(template.FuncMap{
		"bytes": unit("bytes"), "count": unit("count"), "rate": unit("rate"), "age": unit("age"),
		"seconds": unit("seconds"), "preview": unit("preview"),
		"json": func(v any) (string, error) {
			tree, err := toTree(v)
			return string(appendJSON(nil, tree, "", "")), err
		},
	}).Parse(text)
}

// writeTemplate runs the template on one object and ends the line.
func (p *Printer) writeTemplate(tree any) error {
	var b strings.Builder
	if err := p.tmpl.Execute(&b, plain(tree)); err != nil {
		return &Error{Kind: ErrUsage, Msg: "template", Err: err}
	}
	return p.line(CleanLines(b.String()))
}

func (p *Printer) writeYAML(tree any) error {
	b, err := yaml.MarshalWithOptions(yamlTree(tree), yaml.IndentSequence(true))
	if err != nil {
		return fmt.Errorf("yaml: %w", err)
	}
	return p.line(strings.TrimSuffix(string(b), "\n"))
}

// yamlText is a string that must be quoted and escaped: JSON's quoting is
// valid YAML.
type yamlText string

// MarshalYAML implements the interface of goccy/go-yaml.
func (t yamlText) MarshalYAML() ([]byte, error) { return appendString(nil, string(t)), nil }

// yamlTree turns a tree into the ordered maps of the YAML library.
func yamlTree(tree any) any {
	switch v := tree.(type) {
	case *object:
		m := make(yaml.MapSlice, 0, len(v.keys))
		for _, k := range v.keys {
			m = append(m, yaml.MapItem{Key: Clean(k), Value: yamlTree(v.vals[k])})
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = yamlTree(item)
		}
		return list
	case json.Number:
		return plainNumber(v)
	case string:
		if Clean(v) != v {
			return yamlText(v)
		}
	}
	return tree
}
