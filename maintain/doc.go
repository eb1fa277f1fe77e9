// Package maintain changes spools that no broker has open: cursors and topics, trimming, compaction, migration, backup and
// restore, salvage, and what is wrong with a spool.
//
// Every verb that changes a spool works on a staged copy, made of hard links, and puts it in the place of the old database
// by one atomic exchange (see frame.go). A kill at any moment so leaves the old or the new state; the next run, or
// Recover, finds the journal, says which, and cleans up. The old database becomes the checkpoint that Undo brings back.
//
// What belongs here: plans, staging, and what each verb does to a staged spool. What does not: questions about a spool
// (package inspect), the format of keys and records (package storage), and everything about terminals.
package maintain
