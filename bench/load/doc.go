// Package load makes traffic. Publishers and consumers speak the Pulsar wire protocol with as little work as they can, so
// that they measure the broker and not themselves; stock.go has the Go client of Apache Pulsar beside them.
//
// What belongs here: everything that talks to a broker that serves the Pulsar protocol. What does not: starting one, and
// peers with protocols of their own (package peer).
package load
