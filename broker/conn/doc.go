// Package conn speaks Pulsar's binary protocol with one client: one goroutine reads
// the connection, one writes it, and requests that may wait for the spool are answered
// by goroutines of the connection, a bounded number at a time.
//
// Every request that carries an id is answered, a refused one with an error in words.
// What cannot be read (garbage, an oversized or cut frame, a command before CONNECT)
// ends this connection and nothing else.
//
// What does not belong here: rules about topics (package topic), choosing consumers
// (package dispatch), and the encoding of commands (package wire).
package conn
