// Package wire is the Pulsar binary protocol: frames, commands, stored entries
// and their metadata, batches, checksums, topic names and message ids.
//
// What belongs here: turning bytes into values and values into bytes, and the
// pure arithmetic that goes with it. What does not: sockets, timeouts, buffers
// shared between connections, any decision about what a command means. The one
// reader, FrameReader, works on any io.Reader.
//
// Two codecs live side by side. The commands that run once per message (SEND,
// its receipt, MESSAGE, ACK, FLOW, keep-alive) and the message metadata are
// read and written by hand and allocate nothing; every other command goes
// through the code generated into wire/pb. Both accept the same bytes: fields
// that are unknown, or that carry an unexpected wire type, are skipped, and a
// required field that is missing is an error. The hand codec does not look
// inside nested messages that it has no use for, so it may accept a command
// whose unused parts the generated code would refuse.
//
// Nothing in this package panics on input, and no allocation exceeds a length
// that was checked first.
package wire
