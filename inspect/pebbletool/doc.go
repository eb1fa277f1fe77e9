// Package pebbletool runs Pebble's own introspection tool on the database of a
// spool: read-only, with keys printed as people read them.
//
// What belongs here: choosing which of the tool's commands may run, and making
// them safe. What does not: answers about a spool (package inspect).
//
// The tool is made of cobra commands; so this package knows cobra, which its
// neighbours do not.
package pebbletool
