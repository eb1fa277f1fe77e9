package dispatch

import (
	"sync"
	"time"
)

// pump runs passes one at a time: a kick during a pass asks for one more, further
// kicks are merged into it. It has no goroutine while there is nothing to do.
type pump struct {
	pass func()

	mu      sync.Mutex
	running bool
	again   bool
	stopped bool
	idle    sync.Cond // signalled when running turns false
	timer   *time.Timer
	due     time.Time
}

func (p *pump) init(pass func()) {
	p.pass = pass
	p.idle.L = &p.mu
}

// kick asks for a pass.
func (p *pump) kick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.stopped:
	case p.running:
		p.again = true
	default:
		p.running = true
		go p.loop()
	}
}

func (p *pump) loop() {
	for {
		p.pass()
		p.mu.Lock()
		if !p.again || p.stopped {
			p.running = false
			p.idle.Broadcast()
			p.mu.Unlock()
			return
		}
		p.again = false
		p.mu.Unlock()
	}
}

// kickAt asks for a pass at a time; an earlier one that is already asked for stands.
func (p *pump) kickAt(now, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || (p.timer != nil && !p.due.After(at) && p.due.After(now)) {
		return
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	p.due = at
	p.timer = time.AfterFunc(at.Sub(now), p.kick)
}

// stop ends the passes and waits for the running one. It must not be called from a pass.
func (p *pump) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
	for p.running {
		p.idle.Wait()
	}
}
