// Package export is the daemon's /metrics: broker, topic and subscription families under Apache Pulsar's names, and
// spoold_* for what Pulsar does not have.
//
// What belongs here: the declaration of each family, in one place with its help, and writing the text format. Values come
// from counters that topics, subscriptions and the store bump once per batch; a scrape takes no lock that serving needs for
// longer than copying a list. What does not belong here: counting (package meter), rules, HTTP beyond the one handler.
package export
