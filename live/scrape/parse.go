package scrape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// ErrText means that the text is not, or not to its end, the Prometheus text format.
var ErrText = errors.New("not Prometheus metrics")

// Parse sorts metrics in the Prometheus text format. A text that is wrong
// somewhere gives the families before the fault in a partial snapshot together
// with an error of kind ErrText, which names the line. It never panics.
func Parse(r io.Reader) (*Snapshot, error) {
	in := &checked{r: r}
	s := &Snapshot{Topics: map[string]*Topic{}, Namespaces: map[string]*Topic{}, Families: map[string]*dto.MetricFamily{}}
	families, err := parseText(newSieve(in, s))
	for name, f := range families {
		s.take(name, f)
	}
	if in.err != nil {
		err = in.err
	} else if err != nil {
		if in.html {
			err = errors.New("this is an HTML page")
		}
		err = fmt.Errorf("%w: %w", ErrText, err)
	}
	s.Partial = err != nil
	return s, err
}

// parseText guards against the parser: its input comes from the network.
func parseText(r io.Reader) (families map[string]*dto.MetricFamily, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser failed: %v", p)
		}
	}()
	p := expfmt.NewTextParser(model.UTF8Validation)
	return p.TextToMetricFamilies(r)
}

// checked remembers a failed read, which the parser reports as a fault of the
// text, takes carriage returns before line feeds out, and looks for HTML.
type checked struct {
	r       io.Reader
	err     error
	html    bool
	started bool
}

func (c *checked) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	if err != nil && err != io.EOF {
		c.err = err
	}
	if !c.started && n > 0 {
		c.started = true
		c.html = strings.HasPrefix(strings.TrimSpace(string(b[:n])), "<")
	}
	if i := bytes.IndexByte(b[:n], '\r'); i >= 0 {
		kept := i
		for _, ch := range b[i:n] {
			if ch != '\r' {
				b[kept] = ch
				kept++
			}
		}
		n = kept
	}
	return n, err
}

// take sorts the series of one family.
func (s *Snapshot) take(name string, f *dto.MetricFamily) {
	general := false
	for _, m := range f.GetMetric() {
		if !s.place(name, m) {
			general = true
		}
	}
	if name == "process_start_time_seconds" && len(f.GetMetric()) > 0 {
		s.Started = number(f.GetMetric()[0])
	}
	if general {
		s.Families[name] = f
	}
}

// place puts one series where it belongs; false when it is about no single
// topic or namespace.
func (s *Snapshot) place(name string, m *dto.Metric) bool {
	var ns, topic, sub, partition string
	detail := false
	for _, l := range m.GetLabel() {
		switch l.GetName() {
		case "namespace":
			ns = l.GetValue()
		case "topic":
			topic = l.GetValue()
		case "subscription":
			sub = l.GetValue()
		case "partition":
			partition = l.GetValue()
		default:
			detail = detail || isDetail(l.GetName(), l.GetValue())
		}
	}
	short, isPulsar := strings.CutPrefix(name, "pulsar_")
	switch {
	case topic == "" && ns == "":
		if isPulsar && !detail {
			s.broker(short, number(m))
		}
		return false
	case detail:
		return true
	case topic == "":
		if isPulsar {
			set(at(s.Namespaces, ns, ns).field(short), number(m))
		}
		return true
	}
	if partition != "" && partition != "-1" {
		topic += "-partition-" + partition
	}
	t := at(s.Topics, topic, ns)
	if sub == "" {
		t.set(name, number(m))
		return true
	}
	set(t.subscription(sub).field(name), number(m))
	return true
}

// isDetail says whether a label makes a series one of several of its topic or subscription.
func isDetail(label, value string) bool {
	switch label {
	case "consumer_name", "consumer_id", "producer_name", "producer_id", "le", "quantile":
		return true
	case "remote_cluster":
		return value != "local"
	}
	return false
}

// set takes a metric of the topic by its whole name.
func (t *Topic) set(name string, v Value) {
	if short, isPulsar := strings.CutPrefix(name, "pulsar_"); isPulsar {
		set(t.field(short), v)
		return
	}
	set(t.own(name), v)
}

// subscription gives a subscription of the topic, making it when it is new.
func (t *Topic) subscription(name string) *Subscription {
	one := t.Subscriptions[name]
	if one == nil {
		if t.Subscriptions == nil {
			t.Subscriptions = map[string]*Subscription{}
		}
		one = &Subscription{Name: name}
		t.Subscriptions[name] = one
	}
	return one
}

func (s *Snapshot) broker(short string, v Value) {
	if own, ok := strings.CutPrefix(short, "broker_"); ok {
		set(s.Broker.field(own), v)
		return
	}
	set(s.clusterOnly.field(short), v)
}

func at(topics map[string]*Topic, name, ns string) *Topic {
	t := topics[name]
	if t == nil {
		t = &Topic{Name: name, Namespace: ns}
		topics[name] = t
	}
	return t
}

func set(place *Value, v Value) {
	if place != nil && v.known {
		*place = v
	}
}
