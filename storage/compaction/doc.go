// Package compaction keeps, of a topic, the last message of every key.
//
// What belongs here: which messages stay, in bounded memory, and the entries that are left of batches. What does not:
// where entries come from and go to, when a topic is compacted, and how the result is read (packages storage and broker).
//
// The rules are Pulsar's. Of messages with the same key the last stays; one with a null or empty value deletes its key and
// goes too; messages without a key go, unless Options say otherwise; markers of the broker go. A batch of which some
// messages stay is written anew, the others empty and marked as compacted out, so that batch indexes stay what they were.
// A batch that is encrypted or cannot be taken apart is kept whole, and so is every entry whose metadata cannot be read.
// The chunks of a message stay or go together; those of a message that is not complete yet stay.
//
// Memory does not grow with the number of keys: Run reads its source several times when the keys do not fit. A pass keeps
// the last place of every key whose hash lies in some range, as wide as memory allows, and marks what stays in a bitmap;
// when the ranges are through, one more pass emits the marked messages, in order. The bitmap takes at most a bit a
// message; when even that does not fit, the source is cut into windows, and each has its own passes, which read to the
// source's end because what supersedes a message may come late. With k keys and room for c the source is read about
// k/c + 1 times: between three quarters and all of the room is used.
package compaction
