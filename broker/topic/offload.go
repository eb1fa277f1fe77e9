package topic

import (
	"errors"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
)

// Offload asks for every closed ledger that ends before a position to be put into the object store, in the background. It
// refuses with Conflict while that goes on, Precondition without an object store, NotAllowed.
func (t *Topic) Offload(before wire.Position) error {
	if t.store == nil {
		return fault.New(fault.NotAllowed, "Offload of a non-persistent topic is not allowed: nothing is stored")
	}
	err := t.store.Offload(before)
	switch {
	case errors.Is(err, storage.ErrNoBucket):
		return fault.New(fault.Precondition, "this broker has no object store: configure offload-bucket and start it again")
	case errors.Is(err, storage.ErrOffloadRunning):
		return fault.New(fault.Conflict, "Offload of %s is already in progress", t.name)
	case err == nil:
		t.offloadRan.Store(true)
	}
	return storeFault(err, "offloading %s", t.name)
}

// OffloadStatus tells how offloading stands and what is the first position that is in the spool only; NotAllowed for a
// non-persistent topic.
func (t *Topic) OffloadStatus() (JobStatus, wire.Position, error) {
	if t.store == nil {
		return JobStatus{}, wire.Position{}, fault.New(fault.NotAllowed, "a non-persistent topic is not offloaded: nothing is stored")
	}
	s := t.store.OffloadStatus()
	return jobStatus(s.Running, t.offloadRan.Load() || !s.Succeeded.IsZero(), s.Last), s.FirstUnoffloaded, nil
}

// Offloaded is how many bytes of payload are in the object store, whether they are in the spool too or not.
func (t *Topic) Offloaded() (bytes int64) {
	if t.store == nil {
		return 0
	}
	for _, l := range t.store.Ledgers() {
		if l.Object != "" {
			bytes += l.Bytes
		}
	}
	return bytes
}

// backgroundStats fills in what was offloaded and compacted.
func (t *Topic) backgroundStats(st *TopicStats) {
	st.OffloadedStorageSize = new(t.Offloaded())
	o := t.store.OffloadStatus()
	if o.LastLedger >= 0 {
		st.LastOffloadLedgerID, st.LastOffloadSuccessTimeStamp = &o.LastLedger, o.Succeeded.UnixMilli()
	}
	if !o.Failed.IsZero() {
		st.LastOffloadFailureTimeStamp = o.Failed.UnixMilli()
	}
	c := t.store.Compaction()
	if c.Succeeded.IsZero() && c.Failed.IsZero() {
		return
	}
	st.Compaction = &CompactionStats{Took: c.Took.Milliseconds()}
	if !c.Succeeded.IsZero() {
		st.Compaction.Removed, st.Compaction.Succeeded = &c.Removed, c.Succeeded.UnixMilli()
	}
	if !c.Failed.IsZero() {
		st.Compaction.Failed = c.Failed.UnixMilli()
	}
}
