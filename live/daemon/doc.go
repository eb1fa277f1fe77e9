// Package daemon controls the spoold process of one spool on this machine:
// find the program, start it detached, wait until it serves, stop it, say how
// it is, show its log.
//
// What is known about a running broker stands in SPOOL/broker.json, which
// spoold writes when it is ready and removes at a clean stop.
//
// What belongs here: processes, signals, the record and the log file. What
// does not: questions that a broker answers over HTTP beyond "are you there"
// (live/admin), what is inside a spool (storage).
package daemon
