package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spoolctl/broker"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigSources(t *testing.T) {
	s := broker.Sources{
		PulsarConf: write(t, "standalone.conf", "# comment\nbrokerServicePort=1\nwebServicePort=2\nmaxMessageSize=1048576\nzooKeeper=x\ndefaultRetentionSizeInMB=3\nclusterName=\nbindAddress=0.0.0.0\nmanagedLedgerOffloadDeletionLagMs=60000\nmanagedLedgerOffloadAutoTriggerSizeThresholdBytes=7\nbrokerServiceCompactionThresholdInBytes=8\nmaxConcurrentTopicLoadRequest=9\n"),
		File:       write(t, "spoold.yaml", "web-port: 3\nkeep-alive: 5s\nmaxProducersPerTopic: 7\n"),
		Environ:    []string{"SPOOLD_KEEP_ALIVE=6s", "HOME=/x"},
		Flags:      map[string]string{"bind": "127.0.0.9"},
	}
	cfg, origins, err := broker.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Port != 1 || cfg.WebPort != 3 || cfg.MaxMessageSize != 1<<20 || cfg.KeepAlive != 6*time.Second || cfg.Bind != "127.0.0.9" ||
		cfg.OffloadLag != time.Minute || cfg.OffloadAfter != 7 || cfg.CompactAfter != 8 || cfg.MaxLoads != 9 || cfg.RetentionSize != 3<<20 || cfg.Cluster != "standalone" || cfg.MaxProducersPerTopic != 7 {
		t.Errorf("%+v", cfg)
	}
	from := map[string]string{}
	for _, o := range origins {
		from[o.Key] = o.Source
	}
	for key, want := range map[string]string{"port": s.PulsarConf, "web-port": s.File, "keep-alive": "environment", "bind": "flag", "spool": "default"} {
		if from[key] != want {
			t.Errorf("%s comes from %s, want %s", key, from[key], want)
		}
	}
}

func TestConfigErrorsSayWhatToDo(t *testing.T) {
	for content, words := range map[string]string{
		"prot: 1":            "did you mean port?",
		"port: 70000":        "want a number from 0 to 65535",
		"keep-alive: soon":   "want a duration like 30s",
		"sync: sometimes":    "want batch",
		"store-deadline: 0":  "want a duration of more than 0",
		"min-free-space: -1": "want a number of at least 0",
		"port: [1, 2]":       "single value",
		"batch-index-ack: 1": "want one of false, true",
	} {
		_, _, err := broker.Load(broker.Sources{File: write(t, "spoold.yaml", content)})
		var c *broker.ConfigError
		if !errors.As(err, &c) || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", content, err, words)
		}
	}
}

func TestEndpointFile(t *testing.T) {
	var told broker.Endpoint
	d := start(t, func(c *broker.Config) { c.Ready = func(e broker.Endpoint) { told = e } })
	path := filepath.Join(d.Config().Spool, "broker.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got broker.Endpoint
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got != told || got.PID != os.Getpid() || got.Port == 0 || got.WebPort == 0 {
		t.Errorf("file %+v, told %+v", got, told)
	}
	d.stop()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the stop: %v", err)
	}
}

func TestStartRefusesALockedSpoolAndATakenPort(t *testing.T) {
	d := start(t)
	cfg := config(t, d.Config().Spool)
	if _, err := broker.Start(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), "lock") {
		t.Errorf("a second daemon on one spool: %v", err)
	}
	cfg = config(t, t.TempDir())
	cfg.Port = d.Endpoint().Port
	if _, err := broker.Start(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), "choose another one") {
		t.Errorf("a taken port: %v", err)
	}
}
