package load

import (
	"sync/atomic"
	"time"
)

// Goal is a number of messages that one or several consumers receive together.
type Goal struct {
	left atomic.Int64
	done chan struct{}
	at   time.Time
}

// NewGoal is reached after n messages.
func NewGoal(n int) *Goal {
	g := &Goal{done: make(chan struct{})}
	g.left.Store(int64(n))
	return g
}

// Left is how many messages are missing.
func (g *Goal) Left() int64 { return max(0, g.left.Load()) }

// At is when the goal was reached; call it after a consumer returned without an error.
func (g *Goal) At() time.Time { return g.at }

// one counts a message; true for the last.
func (g *Goal) one() bool { return g.left.Add(-1) == 0 }

func (g *Goal) reached() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}
