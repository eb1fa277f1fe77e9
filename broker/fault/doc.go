// Package fault holds the daemon's typed refusals: what a caller asked for and
// why it cannot be had. The binary protocol turns a Kind into a ServerError code,
// the admin API turns it into an HTTP status; neither looks at the text.
//
// What does not belong here: errors of one package only, and anything that logs.
package fault
