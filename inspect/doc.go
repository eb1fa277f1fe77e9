// Package inspect answers questions about a spool on disk without changing a
// byte of it: one file per verb, each with an options struct and a method of
// Session that returns plain result structs.
//
// What belongs here: opening a spool safely, whatever its state, and computing
// answers. What does not: how a topic, cursor or backlog works (package
// storage has the one implementation, used by the broker as well), reading
// damaged files (package damage), printing and flags (format, cmd/spoolctl).
package inspect
