package export

import "spoolctl/broker/meter"

// Pulsar shows sizes and latencies as gauges, one for each class: how many values of the last whole minute were in it.
// They are not cumulative, so these are no Prometheus histograms.

// sizeFamilies are the entry sizes of a topic. Dashboards ask for the last class under either of its names.
func sizeFamilies() []topicFamily {
	const name = "pulsar_entry_size"
	of := func(class int) func(*topicRow) float64 {
		return func(r *topicRow) float64 { return float64(r.sizes.Class[class]) }
	}
	var out []topicFamily
	bounds := [len(meter.Counts{}.Class) - 2]string{"128", "512", "1_kb", "2_kb", "4_kb", "16_kb", "100_kb", "1_mb"}
	for i, b := range bounds {
		out = append(out, perStored(name+"_le_"+b, "Entries of the last minute of at most this size, and above the class before.", of(i)))
	}
	const over = "Entries of the last minute that are larger than every class."
	return append(out,
		perStored(name+"_le_overflow", over, of(len(bounds))),
		perStored(name+"_overflow", over, of(len(bounds))),
		perStored(name+"_count", "Entries of the last minute.", func(r *topicRow) float64 { return float64(r.sizes.Count) }),
		perStored(name+"_sum", "Bytes of the entries of the last minute.", func(r *topicRow) float64 { return float64(r.sizes.Sum) }),
	)
}

// latencyFamilies are the write latencies of a topic, from queueing to durable, in milliseconds. Pulsar's code and its
// documentation spell the last class differently.
func latencyFamilies() []topicFamily {
	const name = "pulsar_storage_write_latency"
	of := func(class int) func(*topicRow) float64 {
		return func(r *topicRow) float64 { return float64(r.latencies.Class[class]) }
	}
	var out []topicFamily
	bounds := [len(meter.Counts{}.Class) - 1]string{"0_5", "1", "5", "10", "20", "50", "100", "200", "1000"}
	for i, b := range bounds {
		out = append(out, perStored(name+"_le_"+b, "Entries of the last minute written within so many milliseconds, and not within those of the class before.", of(i)))
	}
	const over = "Entries of the last minute written in more milliseconds than every class."
	return append(out,
		perStored(name+"_overflow", over, of(len(bounds))),
		perStored(name+"_le_overflow", over, of(len(bounds))),
		perStored(name+"_count", "Entries of the last minute.", func(r *topicRow) float64 { return float64(r.latencies.Count) }),
		perStored(name+"_sum", "Milliseconds that the entries of the last minute took, all together.", func(r *topicRow) float64 { return float64(r.latencies.Sum) / 1000 }),
	)
}
