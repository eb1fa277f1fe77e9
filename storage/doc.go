// Package storage is the spool: topics as managed ledgers, cursors, resources, in one Pebble database, written through
// one group-committed queue.
//
// What belongs here: everything that decides what is on disk, and the one implementation of each question that the
// running broker and the offline inspector both answer: what is the backlog of a cursor, which messages come next, may
// a ledger go. Package key has the keys, package record the values. What does not belong here: the wire protocol beyond
// names and positions, connections, dispatch, and any text for people except errors.
//
// The path of a publish: Topic.Append gives the position and queues it; the committer (commit.go) builds a batch,
// applies it and lets several be in flight; completions come back in order, one call per topic and batch (Sink).
package storage
