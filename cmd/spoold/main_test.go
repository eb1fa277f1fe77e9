package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"spoolctl/broker"
)

func TestRunPrintsItsEndpointAndStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"--spool", t.TempDir(), "--port", "0", "--web-port", "0", "--log-level", "error"}, nil, in, io.Discard)
	}()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var e broker.Endpoint
	if err := json.Unmarshal(line, &e); err != nil || e.Port == 0 || e.WebPort == 0 || e.PID == 0 {
		t.Fatalf("printed %q: %v", line, err)
	}
	resp, err := http.Get("http://127.0.0.1:" + strconv.Itoa(e.WebPort) + "/admin/v2/clusters")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if code := <-done; code != exitOK {
		t.Fatalf("exit code %d", code)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"--no-such-flag"}, {"--port", "x"}, {"--config", "/does/not/exist"}, {"--log-format", "x"}, {"surplus"},
	} {
		var stderr bytes.Buffer
		if code := run(context.Background(), args, nil, io.Discard, &stderr); code != exitUsage || !strings.HasPrefix(stderr.String(), "spoold: ") {
			t.Errorf("%v: exit code %d, %s", args, code, &stderr)
		}
	}
}

func TestConfigShowsOrigins(t *testing.T) {
	var stdout bytes.Buffer
	if code := run(context.Background(), []string{"config", "--port", "7"}, []string{"SPOOLD_CLUSTER=home"}, &stdout, io.Discard); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	for _, want := range []string{"flag", "environment", "default"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %s in\n%s", want, &stdout)
		}
	}
}
