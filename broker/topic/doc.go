// Package topic holds what the daemon knows by name: tenants, namespaces, partitioned
// topics, topics, their schemas, and a topic's producers and subscriptions, with Pulsar's rules about
// them. The binary protocol and the admin API both work on the Registry; refusals are
// package fault's.
//
// A publish goes Producer.Publish -> storage.Topic.Append, and its result comes back
// through Committed, which answers the producers and starts the dispatchers.
//
// What does not belong here: choosing a consumer (package dispatch), the wire format
// (package conn), HTTP, what makes schemas compatible (package schema), and where a byte lies on disk (package storage).
package topic
