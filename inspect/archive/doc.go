// Package archive is the form in which topics travel between spools: one
// stream with everything that a topic is, positions and acknowledgements
// included, so that what is read back is exactly what was written.
//
// What belongs here: the format, its writer and its reader. What does not:
// where the content comes from (package inspect) and what becomes of it.
//
// # The format
//
// A file is the eight bytes SPOOLARC, a version byte, and frames inside one
// Zstandard stream. A frame is a type byte, the length of its content as an
// unsigned varint, the content, and the CRC-32C of type and content (4 bytes,
// little-endian). The content is JSON, but for entries: their id, publish time,
// number of messages and checksum state as varints, then the producer's bytes
// as they were stored.
//
//	H header      of the archive; the first frame
//	R resource    a tenant, namespace, partitioned topic, topic policies, settings
//	S schema      one version of a subject's schema
//	T topic       what follows belongs to it
//	L ledger      of the topic; its entries follow
//	E entry       of the ledger, by rising id
//	G gap         entries of the ledger that could not be read
//	C cursor      of the topic
//	A acks        of the cursor, in one ledger
//	P producer    what deduplication knows of one of the topic's producers
//	Z trailer     totals; an archive without it was cut short
//
// The same content can stand in lines of JSON, one for each frame, for reading and changing it with other tools: an object
// with one field, named as above (the trailer is end), an entry's bytes in base64. Lines have no checksums.
package archive
