// Package peer starts and stops what is measured: spoold and Redis as processes of their own, NATS embedded, and the bare
// storage engine.
//
// What belongs here: starting, stopping and watching, and traffic for peers that do not speak the Pulsar protocol. What does
// not: traffic for brokers that do (package load), and what is compared with what (package scenario).
package peer
