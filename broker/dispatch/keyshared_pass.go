package dispatch

import (
	"spoolctl/storage"
)

func (d *keyShared) pass() {
	for {
		d.due()
		waited, ok := d.stepWaiting()
		if !ok {
			return
		}
		more, ok := d.stepNew()
		if !ok || !(waited || more) {
			return
		}
	}
}

// due moves entries whose time has come to those that wait for their consumer.
func (d *keyShared) due() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now().UnixMilli()
	for {
		x, ok := d.delays.due(now)
		if !ok {
			d.wait()
			return
		}
		d.put(d.group(x.hash), x.pos, x.hash)
	}
}

// stepWaiting sends one run of waiting entries to every consumer that is ready. It
// says whether anything was sent or settled, and false when the pass is to end.
func (d *keyShared) stepWaiting() (progress, ok bool) {
	for _, c := range d.Consumers() {
		sent, ok := d.sendWaiting(c)
		if !ok {
			return false, false
		}
		progress = progress || sent
	}
	return progress, true
}

func (d *keyShared) sendWaiting(c *Consumer) (progress, ok bool) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return false, false
	}
	if !c.ready() || !d.permitted() || c.waiting.len() == 0 {
		d.mu.Unlock()
		return false, true
	}
	d.run = d.run[:0]
	n := d.entriesFor(c.permits)
	for p, h := range c.waiting.all() {
		if len(d.run) >= n || (len(d.run) > 0 && !follows(d.run[len(d.run)-1], p)) {
			break
		}
		if d.free(h, c) {
			d.run = append(d.run, p)
		}
	}
	gen := d.gen
	d.mu.Unlock()
	if len(d.run) == 0 {
		return false, true
	}

	got, next, err := d.Source.Pending(d.ctx, d.run[0], len(d.run), readBytes, d.buf[:0])
	d.buf = got

	d.mu.Lock()
	defer d.mu.Unlock()
	defer clear(got)
	if err != nil {
		d.failed(err)
		return false, false
	}
	if gen != d.gen || d.closed || c.waiting == nil {
		return true, !d.closed
	}
	i := 0
	for _, p := range d.run {
		for i < len(got) && got[i].Position.Less(p) {
			i++
		}
		if i == len(got) || got[i].Position != p {
			if p.Less(next) {
				d.drop(c, p)
				delete(d.counts, p)
				progress = true
			}
			continue
		}
		hash, waits := c.waiting.get(p)
		if !waits || !d.free(hash, c) {
			continue
		}
		if !c.ready() || !d.permitted() {
			break
		}
		d.drop(c, p)
		d.give(c, &got[i], hash)
		progress = true
	}
	d.flushAll()
	return progress, true
}

// stepNew reads entries that were never read and sends those whose consumer is ready;
// the others wait. It says whether it read any, and false when the pass is to end.
func (d *keyShared) stepNew() (progress, ok bool) {
	d.mu.Lock()
	var free int64
	for _, c := range d.consumers {
		if c.ready() {
			free += c.permits
		}
	}
	if free <= 0 || !d.permitted() || d.nWait >= maxWaiting || d.delays.len() >= maxDelayed {
		d.hungry.set(false)
		d.mu.Unlock()
		return false, true
	}
	d.hungry.set(true)
	from, gen, n, now := d.read, d.gen, d.entriesFor(free), d.Now().UnixMilli()
	d.mu.Unlock()

	got, next, err := d.Source.Pending(d.ctx, from, n, readBytes, d.buf[:0])
	d.buf = got

	d.mu.Lock()
	defer d.mu.Unlock()
	defer clear(got)
	if err != nil {
		d.failed(err)
		return false, false
	}
	if gen != d.gen || d.closed {
		return true, !d.closed
	}
	for i := range got {
		d.place(&got[i], now)
	}
	d.read = next
	d.flushAll()
	if len(got) == 0 {
		if d.nWait == 0 {
			d.tellEnd()
		}
	}
	return len(got) > 0, true
}

// place sends a new entry or lets it wait; the caller holds mu.
func (d *keyShared) place(e *storage.PendingEntry, now int64) {
	t := traitsOf(e.Data)
	if t.deliverAt > now {
		d.delays.add(delayed{at: t.deliverAt, pos: e.Position, hash: t.hash})
		return
	}
	c := d.group(t.hash)
	if c == d.orphans || !c.ready() || !d.permitted() || c.waitHash[t.hash] > 0 || !d.free(t.hash, c) {
		d.put(c, e.Position, t.hash)
		return
	}
	d.give(c, e, t.hash)
}
