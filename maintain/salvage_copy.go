package maintain

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// copier writes the readable records of a damaged spool into a new database.
type copier struct {
	ctx  context.Context
	o    *SalvageOptions
	from *pebble.DB
	to   *pebble.DB // nil: only counts
	b    *pebble.Batch
	res  *SalvageResult

	garbage map[storage.Garbage]bool // entries of deleted ledgers that were not removed yet
	dead    map[int64]bool           // ledgers of which nothing but garbage is left
	heads   map[uint64]record.Topic
	cursors map[[2]uint64]bool // topic and cursor
	ledgers map[int64]bool
	owners  map[uint64]bool // topics that have ledgers
	next    struct{ topic, cursor, ledger, epoch uint64 }
	lost    bool // there are topics without a name
}

// batchBytes is how much is copied at a time.
const batchBytes = 4 << 20

// into copies everything to a new database in dir, which is empty.
func (c *copier) into(dir string) (err error) {
	po := engine()
	po.DisableWAL = true // everything is flushed before anybody relies on it
	if c.to, err = pebble.Open(dir, po); err != nil {
		return err
	}
	c.b = c.to.NewBatch()
	err = c.copy()
	return errors.Join(err, c.b.Close(), c.to.Close())
}

func (c *copier) copy() error {
	c.heads, c.cursors, c.ledgers, c.owners = map[uint64]record.Topic{}, map[[2]uint64]bool{}, map[int64]bool{}, map[uint64]bool{}
	for _, step := range []func() error{c.readDead, c.readHeads, c.copyAll, c.complete, c.flush} {
		if err := step(); err != nil {
			return fmt.Errorf("copy what is readable: %w", err)
		}
	}
	if c.to == nil {
		return nil
	}
	return c.to.Flush()
}

func (c *copier) set(k, v []byte) error {
	c.res.Records++
	if c.to == nil {
		return nil
	}
	if err := c.b.Set(k, v, nil); err != nil {
		return err
	}
	if c.b.Len() < batchBytes {
		return nil
	}
	return c.flush()
}

func (c *copier) flush() error {
	if c.to == nil {
		return nil
	}
	if err := c.b.Commit(pebble.NoSync); err != nil {
		return err
	}
	if err := c.b.Close(); err != nil {
		return err
	}
	c.b = c.to.NewBatch()
	return c.ctx.Err()
}

func (c *copier) each(lower, upper []byte, do func(k, v []byte) error) (err error) {
	it, err := c.from.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := do(it.Key(), v); err != nil {
			return err
		}
	}
	return it.Error()
}

const garbagePrefix = "garbage/" // of facts about entries of deleted ledgers; see storage.Meta

// readGarbage reads what the store-wide facts tell that matters here.
func (c *copier) readGarbage() error {
	c.garbage = map[storage.Garbage]bool{}
	c.res.Unclean = true
	lower, upper := key.Meta.Bounds()
	return c.each(lower, upper, func(k, _ []byte) error {
		name, err := key.ParseMeta(k)
		if err != nil {
			return nil //nolint:nilerr // it is not copied
		}
		if name == "clean-stop" {
			c.res.Unclean = false
		}
		var g storage.Garbage
		if rest, ok := strings.CutPrefix(name, garbagePrefix); ok {
			if _, err := fmt.Sscanf(rest, "%d/%d", &g.Epoch, &g.Ledger); err == nil {
				c.garbage[g] = true
			}
		}
		return nil
	})
}

// readDead finds the ledgers that exist only because garbage of theirs was read.
func (c *copier) readDead() error {
	c.dead = map[int64]bool{}
	for g := range c.garbage {
		c.dead[g.Ledger] = true
	}
	lower, upper := key.Extent.Bounds()
	return c.each(lower, upper, func(k, v []byte) error {
		ledger, first, err := key.ParseExtent(k)
		if err != nil || !c.dead[ledger] {
			return err
		}
		x, err := record.ParseExtent(first, v)
		if err == nil && !c.garbage[storage.Garbage{Epoch: x.Epoch, Ledger: ledger}] {
			delete(c.dead, ledger)
		}
		return err
	})
}

func (c *copier) readHeads() error {
	lower, upper := key.Topic.Bounds()
	return c.each(lower, upper, func(k, v []byte) error {
		id, err := key.ParseTopic(k)
		if err == nil {
			c.heads[id], err = record.ParseTopic(v)
		}
		return err
	})
}

func (c *copier) copyAll() error {
	n := int64(0)
	return c.each(nil, nil, func(k, v []byte) error {
		if n++; n%10000 == 0 {
			c.o.Progress(Progress{What: "records copied", Done: n})
		}
		if err := damage.Decode(k, v); err != nil && key.Family(k[0]) != key.Entry {
			return c.drop(k, err)
		}
		keep, err := c.note(k, v)
		if err != nil || !keep {
			return err
		}
		return c.set(k, v)
	})
}

// drop counts a record that nobody can use.
func (c *copier) drop(k []byte, cause error) error {
	c.res.Files = append(c.res.Files, SalvageFile{State: FileDamaged, Lost: new(int64(1)), What: fmt.Sprintf("%s cannot be used: %v", key.Format(k), cause)})
	if c.res.LostRecords != nil {
		*c.res.LostRecords++
	}
	return nil
}

// note counts a record and says whether it is copied.
func (c *copier) note(k, v []byte) (keep bool, err error) {
	switch key.Family(k[0]) {
	case key.Meta:
		return false, nil // made anew
	case key.Entry:
		epoch, ledger, _, err := key.ParseEntry(k)
		if err != nil || c.garbage[storage.Garbage{Epoch: epoch, Ledger: ledger}] {
			return false, err
		}
		c.next.epoch = max(c.next.epoch, epoch)
		c.next.ledger = max(c.next.ledger, uint64(ledger))
		c.res.Entries++
		if _, data, err := record.ParseHeader(v); err == nil {
			c.res.Bytes += int64(len(data))
		}
		return true, nil
	case key.Extent:
		ledger, first, err := key.ParseExtent(k)
		if err != nil || !c.ledgers[ledger] {
			return false, err
		}
		x, err := record.ParseExtent(first, v)
		c.next.epoch = max(c.next.epoch, x.Epoch)
		return true, err
	case key.Ledger:
		topic, ledger, err := key.ParseLedger(k)
		if err != nil || (c.dead[ledger] && topic >= foundID) {
			return false, err
		}
		l, err := record.ParseLedger(v)
		if err != nil {
			return false, err
		}
		// What is here of a ledger that was offloaded is garbage.
		c.owners[topic], c.ledgers[ledger] = true, !l.LocalDeleted
		c.next.ledger = max(c.next.ledger, uint64(ledger))
		c.res.Ledgers++
		return true, nil
	case key.Topic:
		return false, nil // written when it is known to have ledgers
	case key.Cursor:
		topic, id, err := key.ParseCursor(k)
		if _, known := c.heads[topic]; err != nil || !known {
			return false, firstError(err, c.drop(k, errNoTopic))
		}
		c.cursors[[2]uint64{topic, id}] = true
		c.next.cursor = max(c.next.cursor, id)
		c.res.Cursors++
		return true, nil
	case key.Holes:
		topic, id, _, err := key.ParseHoles(k)
		if err == nil && !c.cursors[[2]uint64{topic, id}] {
			return false, c.drop(k, errors.New("its cursor is lost"))
		}
		return err == nil, err
	case key.Dedup:
		topic, _, err := key.ParseProducer(k)
		if _, known := c.heads[topic]; err == nil && !known {
			return false, c.drop(k, errNoTopic)
		}
		return err == nil, err
	case key.Schema:
		subject, _, err := key.ParseSchema(k)
		c.next.topic = max(c.next.topic, subject)
		return true, err
	case key.Resource:
		if !json.Valid(v) {
			return false, c.drop(k, errors.New("not a JSON document"))
		}
	}
	return true, nil
}

var errNoTopic = errors.New("its topic is lost")

// foundID is where the ids begin that damage.Rescue makes up for topics whose id is lost.
const foundID = 1 << 62

// complete writes the topics' heads and the store-wide facts.
func (c *copier) complete() error {
	ids := make([]uint64, 0, len(c.heads))
	for id := range c.heads {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if err := c.completeTopic(id); err != nil {
			return err
		}
	}
	if c.lost {
		if err := c.lostAndFound(); err != nil {
			return err
		}
	}
	for name, v := range map[string]uint64{
		"next-topic": c.next.topic + 1, "next-cursor": c.next.cursor + 1, "next-ledger": c.next.ledger + 1,
		"recorded-epoch": c.next.epoch, "clean-stop": uint64(c.o.Now().UnixMilli()),
	} {
		if err := c.set(key.ForMeta(name), binary.AppendUvarint(nil, v)); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) completeTopic(id uint64) error {
	head := c.heads[id]
	if id < foundID {
		c.next.topic = max(c.next.topic, id)
	}
	name, err := wire.ParseTopic(head.Name)
	if err != nil {
		return c.drop(key.ForTopic(id), err)
	}
	if !c.owners[id] {
		if id >= foundID {
			return nil // nothing but garbage
		}
		// A topic has at least one ledger.
		c.next.ledger++
		l := record.Ledger{Created: head.Created}
		if err := c.set(key.ForLedger(id, int64(c.next.ledger)), l.Append(nil)); err != nil {
			return err
		}
		c.res.Ledgers++
	}
	c.lost = c.lost || name.NamespaceName().String() == lostNamespace
	c.res.Topics++
	return c.set(key.ForTopic(id), head.Append(nil))
}

const lostNamespace = "lost/found"

// lostAndFound makes the namespace of the topics whose names are lost.
func (c *copier) lostAndFound() error {
	for k, doc := range map[string]any{
		string(key.ForResource(byte(storage.KindTenant), "lost")):           storage.Tenant{AdminRoles: []string{}, AllowedClusters: []string{}, Created: c.o.Now().UTC()},
		string(key.ForResource(byte(storage.KindNamespace), lostNamespace)): storage.Namespace{Created: c.o.Now().UTC()},
	} {
		b, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		if err := c.set([]byte(k), b); err != nil {
			return err
		}
	}
	return nil
}
