// Package key is the spool's key space: one family tag, then fixed-width big-endian integers (or a path, for named
// resources), so that the order on disk is the order of the domain.
//
// What belongs here: building, parsing and printing keys, and the family boundaries that tables may not cross.
// What does not: the values under the keys (package record) and any reading or writing of a store.
package key
