// Package schema holds the rules about schemas: which types there are, what makes a definition
// valid, when two definitions are the same, and whether a new one may follow those that a topic
// has, by each of Pulsar's compatibility strategies.
//
// What does not belong here: where schemas are kept (package storage), which topic a schema
// belongs to and when it is registered (package topic), and the commands and routes about them.
package schema
