package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// metricsPage is a broker's page whose counters grow with every scrape.
func metricsPage(t *testing.T) *httptest.Server {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" && r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		for i, name := range []string{"small", "large"} {
			fmt.Fprintf(w, "pulsar_in_messages_total{namespace=\"public/default\",topic=\"persistent://public/default/%s\"} %d\n", name, 100*n.Add(1))
			fmt.Fprintf(w, "pulsar_msg_backlog{namespace=\"public/default\",topic=\"persistent://public/default/%s\"} %d\n", name, 10+10_000*i)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestTopBatch(t *testing.T) {
	s := metricsPage(t)
	batch := []string{"top", "-b", "-n", "2", "-d", "200ms", "--metrics-url", s.URL}
	code, out, errs := runArgs(t, nil, append(batch, "-o", "json")...)
	frames := json.NewDecoder(strings.NewReader(out))
	n := 0
	for ; ; n++ {
		var f struct {
			At      string
			Brokers []struct{ State string }
			Total   struct{ Backlog int64 }
			Topics  []struct {
				Topic   string
				Backlog int64
				Drain   *string
			}
		}
		if err := frames.Decode(&f); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if f.Brokers[0].State != "live" || f.Total.Backlog != 10_020 || len(f.Topics) != 2 || f.Topics[0].Topic != "persistent://public/default/large" || f.At == "" {
			t.Errorf("%+v", f)
		}
	}
	if code != 0 || n != 2 || errs != "" {
		t.Errorf("%d frames, %d %s", n, code, errs)
	}
	if code, out, errs = runArgs(t, nil, append(batch, "-o", "csv")...); code != 0 || errs != "" {
		t.Errorf("%d %s", code, errs)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 5 || rows[0][0] != "at" || rows[0][1] != "topic" || rows[1][1] != "persistent://public/default/large" || rows[3][0] == "at" {
		t.Errorf("one header and two rows a frame, the largest backlog first: %v %q", err, rows)
	}
	if code, out, errs = runArgs(t, nil, append(batch, "--limit", "1")...); code != 0 || errs != "" || strings.Count(out, "default/large") != 2 || strings.Contains(out, "default/small") || !strings.Contains(out, "shown 1 of 2") || !strings.Contains(out, "10,020") {
		t.Errorf("%d %s\n%s", code, errs, out)
	}
	if code, out, _ = runArgs(t, nil, append(batch, "--jq", ".total.backlog")...); code != 0 || strings.TrimSpace(out) != "10020\n10020" {
		t.Errorf("%d %s", code, out)
	}
	if code, _, errs = runArgs(t, []string{"SPOOLCTL_TOKEN=wrong"}, append(batch, "-o", "json")...); code != exitUnavailable || !strings.Contains(errs, "401") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestTopWithoutBrokers(t *testing.T) {
	s := metricsPage(t)
	const nobody = "http://127.0.0.1:1/metrics"
	for _, format := range []string{"json", "table", "csv"} {
		code, _, errs := runArgs(t, nil, "top", "-b", "-n", "1", "-o", format, "--metrics-url", nobody)
		if code != exitUnavailable || !strings.Contains(errs, "no broker answers") || !strings.Contains(errs, "hint") || strings.Count(errs, nobody) != 1 {
			t.Errorf("%s: %d %s", format, code, errs)
		}
	}
	code, out, errs := runArgs(t, nil, "top", "-b", "-n", "1", "-o", "json", "--metrics-url", nobody, "--metrics-url", s.URL)
	if code != exitProblems || !strings.Contains(errs, "some brokers do not answer") || !strings.Contains(out, `"backlog": 10020`) {
		t.Errorf("%d %s\n%s", code, errs, out)
	}
}

func TestTopUsage(t *testing.T) {
	for _, args := range [][]string{
		{"top"}, {"top", "-d", "1ms"}, {"top", "-b", "-n", "-1"}, {"top", "-b", "--metrics-url", "nonsense"}, {"top", "x"}, {"top", "-b", "-o", "nonsense"},
	} {
		code, out, errs := runArgs(t, nil, args...)
		if code != exitUsage || out != "" || !strings.Contains(errs, "hint: ") {
			t.Errorf("%v: %d %s %s", args, code, out, errs)
		}
	}
}
