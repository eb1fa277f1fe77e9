// Package meter counts what flows through a topic, subscription, producer or
// consumer: totals for ever, the rate over the last seconds, and how sizes and
// latencies of the last minute spread, without a lock, a label or an allocation.
//
// What does not belong here: metric names and exposition.
package meter
