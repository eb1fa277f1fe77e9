package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"spoolctl/bench/load"
	"spoolctl/bench/peer"
	"spoolctl/live/scrape"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const scrapes = 5 // of which the median counts

// scrapePage compares a page of 10 000 topics with as many series of gauges of client_golang, both over HTTP without
// compression, and reading it with reading it as Prometheus' own library does.
func scrapePage() Scenario {
	var page []byte // of the last round
	parsing := func(parse func() error) func(context.Context, *Env) ([]float64, error) {
		return func(context.Context, *Env) ([]float64, error) {
			if page == nil {
				return nil, peer.ErrExternal
			}
			return value(medianTime(parse))
		}
	}
	unit := []string{"ms"}
	return Scenario{
		Name: "scrape", What: "metrics of 10 000 topics with a subscription each: a scrape, and reading it",
		Sides: []Side{
			{"spoold", []string{"ms", "series"}, func(ctx context.Context, e *Env) ([]float64, error) {
				var took float64
				err := e.broker(ctx, func(s *peer.Spoold) error {
					if s.Web == "" {
						return peer.ErrExternal
					}
					err := e.publishTo(ctx, s, manyTopics, manyTopics, load.NewRing(kib))
					if err != nil {
						return err
					}
					took, err = medianTime(func() (err error) {
						page, err = fetch(ctx, s.Web+"/metrics")
						return err
					})
					return err
				})
				return []float64{took, float64(series(page))}, err
			}},
			{"client_golang GaugeVec, as many series", unit, func(ctx context.Context, _ *Env) ([]float64, error) {
				if page == nil {
					return nil, peer.ErrExternal
				}
				return value(scrapeGauges(ctx, manyTopics, series(page)/manyTopics))
			}},
			{"live/scrape", unit, parsing(func() error {
				_, err := scrape.Parse(bytes.NewReader(page))
				return err
			})},
			{"expfmt", unit, parsing(func() error {
				p := expfmt.NewTextParser(model.UTF8Validation)
				_, err := p.TextToMetricFamilies(bytes.NewReader(page))
				return err
			})},
		},
		Targets: []Target{
			{Row: "14", To: &At{1, 0}, Lower: true, Must: 0.10, Goal: 0.03},
			{Row: "14", Of: At{2, 0}, To: &At{3, 0}, Lower: true, Must: 0.15, Goal: 0.07},
		},
	}
}

// medianTime is in milliseconds.
func medianTime(do func() error) (float64, error) {
	var times []float64
	for range scrapes {
		start := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		times = append(times, ms(time.Since(start)))
	}
	return median(times), nil
}

// series counts the samples of a page.
func series(page []byte) int {
	n := 0
	for line := range bytes.Lines(page) {
		if line[0] != '#' {
			n++
		}
	}
	return n
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// scrapeGauges serves gauges and scrapes them; the result is in milliseconds.
func scrapeGauges(ctx context.Context, topics, families int) (float64, error) {
	reg := prometheus.NewRegistry()
	for f := range families {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: fmt.Sprintf("bench_topic_family_%d", f), Help: "A value of a topic."}, []string{"cluster", "namespace", "topic"})
		reg.MustRegister(v)
		for t := range topics {
			v.WithLabelValues("standalone", "public/default", fmt.Sprintf("persistent://public/default/bench-%d", t)).Set(float64(t))
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	srv := &http.Server{Handler: promhttp.HandlerFor(reg, promhttp.HandlerOpts{DisableCompression: true})}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	took, err := medianTime(func() error {
		page, err := fetch(ctx, "http://"+l.Addr().String())
		if err == nil && !strings.Contains(string(page[:min(len(page), 1<<10)]), "bench_topic_family") {
			err = errors.New("the page of gauges is not there")
		}
		return err
	})
	err = errors.Join(err, srv.Close())
	if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return took, err
}
