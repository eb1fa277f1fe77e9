// Package policy reads the documents in which a spool keeps policies, and says how long a topic's messages stay: the broker
// trims and expires by it, and so do those who look at a stopped spool or tidy it.
//
// What does not belong here: policies that only a running broker follows, and the endpoints that change them.
package policy
