// Package pb holds the Go code generated from pulsar.proto, the message tables
// of the Pulsar binary protocol. `make generate` rewrites pulsar.pb.go; nothing
// else belongs here. The commands of the hot path have a hand-written codec in
// package wire, which is tested against this one.
package pb
