// Package decode turns the payload of a message into values by the schema that
// its topic had when it was published: Avro, JSON, Protobuf, key-value pairs
// and Pulsar's primitive types.
//
// What belongs here: schemas as package storage keeps them, payloads, and the
// values that come out of both. What does not: which version of a schema a
// message was written with, compression and batches (package inspect), and
// whether a schema may be registered (the broker).
//
// Both schemas and payloads come from disk and may be anything: every error is
// an error, never a panic, and memory is bounded by the payload's size.
package decode
