package load

import "sync"

// window bounds what is under way.
type window struct {
	mu     sync.Mutex
	room   sync.Cond
	free   int
	closed bool
}

func newWindow(n int) *window {
	w := &window{free: n}
	w.room.L = &w.mu
	return w
}

// take waits for room and returns how much of n may go; 0 when the window is closed.
func (w *window) take(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.free == 0 && !w.closed {
		w.room.Wait()
	}
	if w.closed {
		return 0
	}
	n = min(n, w.free)
	w.free -= n
	return n
}

func (w *window) give(n int) {
	w.mu.Lock()
	w.free += n
	w.mu.Unlock()
	w.room.Signal()
}

func (w *window) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.room.Broadcast()
}
