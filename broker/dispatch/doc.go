// Package dispatch decides which consumer gets which message of one subscription:
// exclusive, failover, shared, key_shared, and the same four for topics that keep
// nothing. It owns permits, messages in flight, redelivery and its counts, delayed
// delivery, and the budgets of unacknowledged messages.
//
// A dispatcher is started by what changed (entries committed, permits given, an
// acknowledgement, a consumer gone) and works in passes, one at a time. A trigger
// during a pass asks for one more pass. A pass reads through storage's Pending, the
// same code with which `inspect messages --pending` answers, so both give one answer.
//
// What does not belong here: subscriptions as named things (package topic), the wire
// format of commands (package conn), and any write to the spool.
package dispatch
