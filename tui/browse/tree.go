package browse

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"spoolctl/format"
	"spoolctl/inspect"
	"spoolctl/tui/common"
	"spoolctl/tui/component"
	"spoolctl/wire"

	tea "github.com/charmbracelet/bubbletea"
)

// node is a line of the tree: a tenant, a namespace or a topic.
type node struct {
	name     string // in full
	label    string // its last part
	depth    int
	topic    *inspect.Topic // nil for tenants and namespaces
	children []*node

	topics, ledgers, subscriptions int
	entries, messages, bytes       int64
	backlog                        *int64 // of the slowest subscription; nil without any
	last                           time.Time
}

// add counts a topic.
func (n *node) add(t *inspect.Topic) {
	n.topics++
	n.ledgers += t.Ledgers
	n.subscriptions += t.Subscriptions
	n.entries += t.Entries
	n.messages += t.Messages
	n.bytes += t.Bytes
	if t.Backlog != nil && (n.backlog == nil || *t.Backlog > *n.backlog) {
		n.backlog = t.Backlog
	}
	if t.LastPublish.After(n.last) {
		n.last = t.LastPublish
	}
}

// order is one way to sort the tree: siblings among each other.
type order struct {
	column  int
	falling bool
	compare func(a, b *node) int
}

func orders() []order {
	backlog := func(n *node) int64 {
		if n.backlog == nil {
			return -1
		}
		return *n.backlog
	}
	return []order{
		{0, false, func(a, b *node) int { return strings.Compare(a.label, b.label) }},
		{3, true, func(a, b *node) int { return cmp.Compare(a.entries, b.entries) }},
		{5, true, func(a, b *node) int { return cmp.Compare(a.bytes, b.bytes) }},
		{7, true, func(a, b *node) int { return cmp.Compare(backlog(a), backlog(b)) }},
	}
}

// tree is the first page: all tenants, namespaces and topics.
type tree struct {
	job
	table  *component.Table[*node]
	titles []string
	list   inspect.TopicList
	all    []inspect.Tenant // also those without topics
	loaded bool
	folded map[string]bool

	order   int
	reverse bool
	typed   string // the filter's text
	filter  *regexp.Regexp
}

func newTree(b *base) *tree {
	p := &tree{job: job{base: b}, folded: map[string]bool{}}
	count := func(n int64) string { return format.Count(n) }
	p.table = component.NewTable(func(n *node) string { return n.name },
		component.Column[*node]{Title: "NAME", Left: true, Text: p.label},
		component.Column[*node]{Title: "TOPICS", Width: 7, Optional: 1, Text: func(n *node) string {
			if n.topic != nil {
				return ""
			}
			return count(int64(n.topics))
		}},
		component.Column[*node]{Title: "LEDGERS", Width: 8, Optional: 4, Text: func(n *node) string { return count(int64(n.ledgers)) }},
		component.Column[*node]{Title: "ENTRIES", Width: 12, Text: func(n *node) string { return count(n.entries) }},
		component.Column[*node]{Title: "MESSAGES", Width: 13, Optional: 2, Text: func(n *node) string { return count(n.messages) }},
		component.Column[*node]{Title: "BYTES", Width: 10, Text: func(n *node) string { return format.Size(n.bytes) }},
		component.Column[*node]{Title: "SUBS", Width: 6, Text: func(n *node) string { return count(int64(n.subscriptions)) }},
		component.Column[*node]{Title: "BACKLOG", Width: 12, Text: func(n *node) string {
			if n.backlog == nil {
				return "-"
			}
			return count(*n.backlog)
		}},
		component.Column[*node]{Title: "LAST PUBLISH", Width: 20, Optional: 3, Text: func(n *node) string { return moment(n.last) }},
	)
	for _, c := range p.table.Columns {
		p.titles = append(p.titles, c.Title)
	}
	return p
}

func (p *tree) label(n *node) string {
	mark := "  "
	switch {
	case n.topic != nil:
	case p.folded[n.name] && p.filter == nil:
		mark = "▸ "
	default:
		mark = "▾ "
	}
	return strings.Repeat("  ", n.depth) + mark + format.Plain(n.label)
}

func (*tree) title() string { return "topics" }

func (p *tree) start() tea.Cmd {
	return p.read("reading the topics", func(ctx context.Context, s *inspect.Session) (func() tea.Cmd, error) {
		list, err := s.Topics(ctx, inspect.TopicsOptions{})
		if err != nil {
			return nil, err
		}
		all, err := s.Namespaces(ctx)
		return func() tea.Cmd {
			p.list, p.all, p.loaded = list, all, true
			p.arrange()
			return nil
		}, err
	})
}

func (p *tree) ready() bool { return p.loaded }

// arrange makes the lines anew.
func (p *tree) arrange() {
	root := &node{depth: -1}
	inner := map[string]*node{}
	child := func(of *node, name, label string) *node {
		n := inner[name]
		if n == nil {
			n = &node{name: name, label: label, depth: of.depth + 1}
			inner[name] = n
			of.children = append(of.children, n)
		}
		return n
	}
	for i := range p.list.Topics {
		t := &p.list.Topics[i]
		if !p.takes(*t) {
			continue
		}
		tenant, namespace, label := "?", "?", t.Name // a name that no broker gives
		if n, err := wire.ParseTopic(t.Name); err == nil {
			tenant, namespace, label = n.Tenant, n.Namespace, n.Local
		}
		outer := child(root, tenant, tenant)
		in := child(outer, tenant+"/"+namespace, namespace)
		leaf := &node{name: t.Name, label: label, depth: 2, topic: t}
		in.children = append(in.children, leaf)
		for _, n := range []*node{outer, in, leaf} {
			n.add(t)
		}
	}
	if p.filter == nil {
		for _, t := range p.all {
			of := child(root, t.Name, t.Name)
			for _, name := range t.Namespaces {
				child(of, t.Name+"/"+name, name)
			}
		}
	}
	var lines []*node
	o := p.mark()
	var visit func(of *node)
	visit = func(of *node) {
		slices.SortStableFunc(of.children, func(a, b *node) int {
			if o.falling {
				return o.compare(b, a)
			}
			return o.compare(a, b)
		})
		for _, n := range of.children {
			lines = append(lines, n)
			if p.filter != nil || !p.folded[n.name] {
				visit(n)
			}
		}
	}
	visit(root)
	p.table.SetRows(lines)
}

func (p *tree) takes(t inspect.Topic) bool { return p.filter == nil || p.filter.MatchString(t.Name) }

// mark shows the order in the column's title and returns it.
func (p *tree) mark() order {
	o := orders()[p.order]
	if p.reverse {
		o.falling = !o.falling
	}
	for i, t := range p.titles {
		p.table.Columns[i].Title = t
	}
	arrow := "▲"
	if o.falling {
		arrow = "▼"
	}
	p.table.Columns[o.column].Title += arrow
	return o
}

func (p *tree) key(m tea.KeyMsg, c common.Context) (page, tea.Cmd) {
	n, ok := p.table.Selected()
	switch k := p.keys; {
	case common.Matches(m, k.Sort):
		p.order, p.reverse = (p.order+1)%len(orders()), false
		p.arrange()
	case common.Matches(m, k.Reverse):
		p.reverse = !p.reverse
		p.arrange()
	case p.table.Update(m, c) || !ok:
	case common.Matches(m, k.Open) && n.topic == nil:
		p.folded[n.name] = !p.folded[n.name]
		p.arrange()
	case common.Matches(m, k.Open):
		return newTopic(p.base, *n.topic), nil
	case common.Matches(m, k.Messages) && n.topic != nil:
		return newMessages(p.base, query{topic: n.name}).of(n.name), nil
	}
	return nil, nil
}

func (p *tree) find(re *regexp.Regexp) page {
	n, ok := p.table.Selected()
	if !ok || n.topic == nil {
		return nil
	}
	return newMessages(p.base, query{topic: n.name, grep: re}).of(n.name)
}

func (p *tree) line() []common.Key {
	return []common.Key{p.keys.Open, p.keys.Messages, p.keys.Grep, p.keys.Sort}
}

func (p *tree) view(c common.Context) string { return p.table.View(c) }

// Position implements page.
func (p *tree) Position() string {
	t := p.list.Totals
	text := plural(int64(t.Topics), "topic") + ", " + plural(t.Entries, "entry", "entries") + ", " + format.Size(t.Bytes) +
		", backlog of all subscriptions " + plural(t.Backlog, "message")
	return text
}

// SetFilter implements page: topics by their full names, with the tenants and namespaces above them.
func (p *tree) SetFilter(text string) error {
	re, err := component.CompileFilter(text)
	if err != nil {
		return err
	}
	p.filter, p.typed = re, text
	p.arrange()
	return nil
}

// Filter implements page.
func (p *tree) Filter() string { return p.typed }

func (p *tree) selected() (text, what string) {
	n, ok := p.table.Selected()
	if !ok {
		return "", ""
	}
	return n.name, "the name"
}

func (p *tree) document() (string, func(*format.Printer) error) {
	var list []inspect.Topic
	for _, t := range p.list.Topics {
		if p.takes(t) {
			list = append(list, t)
		}
	}
	o := format.ListOptions{Total: p.list.Totals.Topics, Summary: p.list.Totals}
	return "topics", func(out *format.Printer) error { return format.List(out, list, o) }
}
