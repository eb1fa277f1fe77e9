// Package peer starts and stops what is measured: spoold as a process of its own, NATS JetStream embedded, and the bare
// storage engine.
package peer
