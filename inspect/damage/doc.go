// Package damage reads what can be read of a spool whose database is too
// damaged for Pebble to open, and says exactly what could not be read.
//
// It has readers of its own for the write-ahead log and the MANIFEST, and uses
// Pebble's table reader block by block. Rescue copies every readable record,
// newest version first, into a scratch database outside the spool, on which
// the same code answers as on a sound spool.
//
// What belongs here: reading files of the database without Pebble's help, and
// reports about damage. What does not: what the records mean to a user.
package damage
