package export

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"spoolctl/broker/topic"
	"spoolctl/storage"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Connections are the binary port's counters.
type Connections struct{ Active, Created, Rejected int64 }

// Options are what the metrics are taken from.
type Options struct {
	Registry    *topic.Registry
	Store       *storage.Store
	Connections func() Connections
	Cluster     string
	Version     string
	Started     time.Time
	Now         func() time.Time // default: time.Now
	Logger      *slog.Logger
}

const contentType = "text/plain; version=0.0.4; charset=utf-8"

// New returns the handler of /metrics.
func New(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gathered, err := process.Gather()
		if err != nil {
			o.Logger.Error("metrics", "error", err)
			http.Error(w, "the process's own metrics cannot be read: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", contentType)
		if !acceptsGzip(r) {
			o.page(w, gathered)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return // cannot be: the level is valid
		}
		o.page(z, gathered)
		_ = z.Close() // the peer may be gone
	})
}

// acceptsGzip reads Accept-Encoding as far as scrapers use it: a list, where ";q=0" refuses.
func acceptsGzip(r *http.Request) bool {
	for _, part := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, parameter, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name == "gzip" {
			q := strings.TrimSpace(parameter)
			return q != "q=0" && !strings.HasPrefix(q, "q=0.0")
		}
	}
	return false
}

// page writes everything: broker and entity families first, then the process's own. It streams; an error of out means
// that the peer is gone.
func (o *Options) page(out io.Writer, process []*dto.MetricFamily) {
	w := &writer{out: out}
	rows := collect(o.Registry, o.Cluster, o.Now())
	o.brokerFamilies(w, rows)
	o.entityFamilies(w, rows)
	w.flush()
	for _, f := range process {
		if w.err == nil {
			_, w.err = expfmt.MetricFamilyToText(out, f)
		}
	}
}

func (o *Options) entityFamilies(w *writer, rows []topicRow) {
	base := label("", "cluster", o.Cluster)
	for _, f := range topicFamilies() {
		w.family(&f.family)
		if f.zero {
			w.sample(f.name, base, 0)
		}
		for i := range rows {
			if v, known := f.value(&rows[i]); known {
				w.sample(f.name, rows[i].labels, v)
			}
		}
	}
	messages, sentBytes := outFamilies()
	w.family(&messages)
	eachOut(rows, func(labels string, m, _ int64) { w.sample(messages.name, labels, float64(m)) })
	w.family(&sentBytes)
	eachOut(rows, func(labels string, _, b int64) { w.sample(sentBytes.name, labels, float64(b)) })
	for _, f := range subFamilies() {
		w.family(&f.family)
		for i := range rows {
			for j := range rows[i].subs {
				if v, known := f.value(&rows[i].subs[j]); known {
					w.sample(f.name, rows[i].subs[j].labels, v)
				}
			}
		}
	}
}

func eachOut(rows []topicRow, yield func(labels string, messages, bytes int64)) {
	for i := range rows {
		r := &rows[i]
		yield(r.labels, r.outMessages, r.outBytes)
		for j := range r.subs {
			yield(r.subs[j].labels, r.subs[j].outMessages, r.subs[j].outBytes)
		}
	}
}
