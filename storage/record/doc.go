// Package record holds the values of the spool: what stands under the keys of package key.
//
// Records are written in the protobuf wire format (field numbers below each type), so that later versions can add
// fields and older ones skip them; the entry header and the acknowledgement bitmaps, which are hot, have codecs of
// their own. What belongs here: value types, their codecs and their limits. What does not: keys, reading, writing.
package record
