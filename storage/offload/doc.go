// Package offload keeps closed ledgers in object storage: one object per ledger, written once, read by ranges.
//
// What belongs here: the format of such an object, writing one with bounded memory, reading entries from one, finding
// objects that no ledger refers to. What does not: which ledgers are offloaded, when their local entries go, and what a
// ledger's record says (package storage); and the drivers of the providers (package bucket), which are linked only into
// programs that open a bucket. This package knows no provider: it works on any Bucket.
//
// An object is a row of blocks, an index and a footer; all integers are big-endian, all checksums CRC-32C:
//
//	block   magic u32, length of the body u32, first entry id u64, number of entries u32,
//	        body: per entry its length (uvarint) and its bytes, checksum of all of that u32
//	index   per block: offset u64, first entry id u64
//	footer  magic 8 bytes, version u32, spool uuid 36 bytes, ledger u64, entries u64, bytes of the entries u64,
//	        offset of the index u64, number of blocks u32, checksum of the index u32, checksum of the footer u32
//
// The bytes of an entry are those of its value in the spool (package record: header, then the producer's bytes), so that
// one code reads both. Entry ids start at 0 and have no gaps.
package offload
