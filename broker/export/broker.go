package export

import (
	"errors"
	"maps"
	"slices"

	"spoolctl/storage"
)

// brokerFamilies writes the broker's totals and counts by namespace.
func (o *Options) brokerFamilies(w *writer, rows []topicRow) {
	base := label("", "cluster", o.Cluster)
	var t topicRow
	subs := 0
	namespaces := map[string]int{}
	for i := range rows {
		r := &rows[i]
		namespaces[r.namespace]++
		subs += len(r.subs)
		t.producers += r.producers
		t.consumers += r.consumers
		t.rateIn += r.rateIn
		t.rateOut += r.rateOut
		t.bytesIn += r.bytesIn
		t.bytesOut += r.bytesOut
		t.storedBytes += r.storedBytes
		t.rateWrites += r.rateWrites
		t.backlogMessages += r.backlogMessages
	}
	one := func(name, kind, help, labels string, v float64) {
		w.family(&family{name, kind, help})
		w.sample(name, labels, v)
	}
	one("pulsar_version_info", gauge, "Always 1; the version is a label.", label(base, "version", o.Version), 1)
	one("spoold_start_time_seconds", gauge, "When the daemon was started, seconds since 1970.", base, float64(o.Started.UnixMilli())/1000)
	one("pulsar_broker_topics_count", gauge, "Topics loaded.", base, float64(len(rows)))
	one("pulsar_broker_subscriptions_count", gauge, "Subscriptions of loaded topics.", base, float64(subs))
	one("pulsar_broker_producers_count", gauge, "Producers connected.", base, float64(t.producers))
	one("pulsar_broker_consumers_count", gauge, "Consumers connected.", base, float64(t.consumers))
	one("pulsar_broker_rate_in", gauge, "Messages published, per second.", base, t.rateIn)
	one("pulsar_broker_rate_out", gauge, "Messages sent to consumers, per second.", base, t.rateOut)
	one("pulsar_broker_throughput_in", gauge, "Bytes published, per second.", base, t.bytesIn)
	one("pulsar_broker_throughput_out", gauge, "Bytes sent to consumers, per second.", base, t.bytesOut)
	one("pulsar_broker_storage_size", gauge, "Bytes of payload stored by loaded topics.", base, float64(t.storedBytes))
	one("pulsar_broker_storage_write_rate", gauge, "Entries written, per second.", base, t.rateWrites)
	one("pulsar_broker_msg_backlog", gauge, "Messages not acknowledged, subscriptions of loaded topics together.", base, float64(t.backlogMessages))
	w.family(&family{"pulsar_topics_count", gauge, "Topics loaded, by namespace."})
	w.sample("pulsar_topics_count", base, 0) // as Pulsar: the sum over the label namespace stays right
	for _, ns := range slices.Sorted(maps.Keys(namespaces)) {
		w.sample("pulsar_topics_count", label(base, "namespace", ns), float64(namespaces[ns]))
	}
	if o.Connections != nil {
		c := o.Connections()
		one("pulsar_active_connections", gauge, "Client connections open.", base, float64(c.Active))
		one("pulsar_connection_created_total_count", counter, "Client connections accepted.", base, float64(c.Created))
		one("spoold_connections_rejected_total", counter, "Client connections refused.", base, float64(c.Rejected))
	}
	o.storeFamilies(w, base, one)
}

func (o *Options) storeFamilies(w *writer, base string, one func(name, kind, help, labels string, v float64)) {
	s := o.Store.Stats()
	healthy, full := 1.0, 0.0
	if err := o.Store.Health(); err != nil {
		healthy = 0
		if errors.As(err, new(*storage.NoSpaceError)) {
			full = 1
		}
	}
	one("spoold_store_healthy", gauge, "1 while the spool can be written.", base, healthy)
	one("spoold_store_full", gauge, "1 while messages are refused because the disk is nearly full.", base, full)
	one("spoold_store_batches_total", counter, "Batches committed.", base, float64(s.Batches))
	one("spoold_store_entries_total", counter, "Entries committed.", base, float64(s.Entries))
	one("spoold_store_bytes_total", counter, "Bytes of payload committed.", base, float64(s.Bytes))
	one("spoold_store_commit_seconds_total", counter, "Time from queueing to durable, summed over the batches, in seconds.", base, s.CommitTime.Seconds())
	one("spoold_store_queue_operations", gauge, "Operations waiting in the commit queue.", base, float64(s.QueueOps))
	one("spoold_store_queue_bytes", gauge, "Bytes of payload waiting in the commit queue.", base, float64(s.QueueBytes))
	one("spoold_store_tail_cache_bytes", gauge, "Bytes of recent entries kept in memory.", base, float64(s.TailCacheBytes))
	one("spoold_store_quarantined_entries_total", counter, "Entries found damaged, which readers pass over.", base, float64(s.QuarantinedEntries))
	one("spoold_store_trimmed_bytes_total", counter, "Bytes of payload removed because nobody needed them.", base, float64(s.TrimmedBytes))
	p := o.Store.Pebble()
	one("spoold_pebble_disk_bytes", gauge, "Bytes of the database on disk.", base, float64(p.DiskSpaceUsage()))
	one("spoold_pebble_wal_written_bytes_total", counter, "Bytes written to the log since the start.", base, float64(p.WAL.BytesWritten))
	one("spoold_pebble_wal_bytes", gauge, "Bytes of log on disk.", base, float64(p.WAL.PhysicalSize))
	one("spoold_pebble_compaction_debt_bytes", gauge, "Bytes that compactions still have to rewrite.", base, float64(p.Compact.EstimatedDebt))
	one("spoold_pebble_memtable_bytes", gauge, "Bytes of memtables.", base, float64(p.MemTable.Size))
	one("spoold_pebble_l0_sublevels", gauge, "Sublevels of level 0.", base, float64(p.Levels[0].Sublevels))
}
