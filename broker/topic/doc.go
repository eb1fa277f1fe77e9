// Package topic holds what the daemon knows by name: tenants, namespaces, partitioned
// topics, topics, their schemas, and a topic's producers and subscriptions, with Pulsar's rules about
// them, and the policies by which topics are kept: what is resolved from the topic's, the namespace's and
// the broker's in one place (policies.go), and what acts on them now and then (sweep.go, expiry.go, quota.go). The binary protocol and the admin API both work on the Registry; refusals are
// package fault's.
//
// A publish goes Producer.Publish -> storage.Topic.Append, and its result comes back
// through Committed, which answers the producers and starts the dispatchers.
//
// What does not belong here: choosing a consumer (package dispatch), the wire format
// (package conn), HTTP, what makes schemas compatible (package schema), and where a byte lies on disk (package storage).
package topic
