package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"spoolctl/bench/load"
	"spoolctl/bench/peer"
)

const (
	window  = 8192 // messages without a receipt
	permits = 8192 // messages that a consumer may be sent
	kib     = 1 << 10
)

// Env is what scenarios run with.
type Env struct {
	Spoold, Spoolctl, Bare string // paths of programs
	Dir                    string // folder for spools, logs and peers' files
	Scale                  float64
	External               string // host:port of a broker that bench does not start; empty = it starts spoold
	Limits                 peer.Limits

	scenario string
	started  int // logs of the scenario so far
	usage    peer.Usage
	named    int // topics named so far, for an external broker
}

// begin starts the account of a scenario.
func (e *Env) begin(name string) {
	e.scenario, e.started = name, 0
	e.usage = peer.Usage{PeakRSS: -1, Written: -1, Anon: -1, File: -1}
}

// data is the folder of what is removed after a scenario.
func (e *Env) data(name string) string { return filepath.Join(e.Dir, "data", name) }

func (e *Env) wipe() error { return os.RemoveAll(filepath.Join(e.Dir, "data")) }

// Logs is the folder of the logs of all processes that were started.
func (e *Env) Logs() string { return filepath.Join(e.Dir, "logs") }

func (e *Env) log(program string) string {
	e.started++
	return filepath.Join(e.Logs(), fmt.Sprintf("%s-%d-%s.log", e.scenario, e.started, program))
}

// messages scales a number of messages.
func (e *Env) messages(n int) int { return max(1000, int(float64(n)*e.Scale)) }

// topics names n topics. A broker that is not ours may still have those of earlier runs, so they are new ones there.
func (e *Env) topics(n int) []string {
	prefix := "bench"
	if e.External != "" {
		e.named++
		prefix = fmt.Sprintf("bench-%d-%d", time.Now().Unix(), e.named)
	}
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("persistent://public/default/%s-%d", prefix, i)
	}
	return out
}

// start runs spoold on a spool as it is.
func (e *Env) start(ctx context.Context, spool string) (*peer.Spoold, error) {
	if e.External != "" {
		return peer.External(e.External), nil
	}
	return peer.Launch{Program: e.Spoold, Spool: e.data(spool), Log: e.log("spoold"), Limits: e.Limits}.Start(ctx)
}

// own refuses what can only be measured of a broker that bench starts.
func (e *Env) own() error {
	if e.External != "" {
		return peer.ErrExternal
	}
	return nil
}

// stop ends spoold and adds what it used to the scenario's account.
func (e *Env) stop(s *peer.Spoold) (peer.Usage, error) {
	u, err := s.Stop()
	e.account(u)
	return u, err
}

func (e *Env) account(u peer.Usage) {
	e.usage.CPU += u.CPU
	e.usage.Wall += u.Wall
	e.usage.PeakRSS = max(e.usage.PeakRSS, u.PeakRSS)
	e.usage.Written = max(e.usage.Written, u.Written)
	e.usage.Anon = max(e.usage.Anon, u.Anon)
	e.usage.File = max(e.usage.File, u.File)
}

// fill runs spoold on an empty spool, and leaves the spool as a clean stop does.
func (e *Env) fill(ctx context.Context, spool string, do func(s *peer.Spoold) error) (peer.Usage, error) {
	if err := os.RemoveAll(e.data(spool)); err != nil {
		return peer.Usage{}, err
	}
	s, err := e.start(ctx, spool)
	if err != nil {
		return peer.Usage{}, err
	}
	err = do(s)
	u, serr := e.stop(s)
	return u, errors.Join(err, serr)
}

// broker runs spoold on an empty spool, which goes away afterwards.
func (e *Env) broker(ctx context.Context, do func(s *peer.Spoold) error) error {
	_, err := e.fill(ctx, "spool", do)
	return errors.Join(err, os.RemoveAll(e.data("spool")))
}

// keep makes a subscription on each topic, so that what is published is kept.
func keep(ctx context.Context, addr string, topics []string) error {
	subs := make([]load.Subscription, len(topics))
	for i, t := range topics {
		subs[i] = load.Subscription{Topic: t, Name: subscription}
	}
	return load.CreateSubscriptions(ctx, addr, subs...)
}

const subscription = "bench"
