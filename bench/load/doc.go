// Package load is the raw load generator: publishers and consumers that speak the Pulsar wire protocol with as little work
// as they can, so that they measure the broker and not themselves.
package load
