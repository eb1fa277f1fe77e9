// Package faulttest lets one file operation of a store after another fail. It holds only tests, apart from package
// storage's own because of what they leave behind: a database that is lost while it is being opened cannot be closed, and
// its goroutines would count as leaks there.
package faulttest
