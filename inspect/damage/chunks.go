package damage

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// Pebble's log and MANIFEST are made of blocks of 32 KiB, blocks of chunks,
// one or more chunks of records. A chunk is: checksum (4 bytes), payload
// length (2), encoding (1), in logs the low half of the log's number (4) and,
// in the newest encoding, the offset up to which the log was synced (8).
const (
	blockLen   = 32 << 10
	headLegacy = 7
	headLog    = headLegacy + 4
	headSync   = headLog + 8
)

// The place of a chunk in its record.
const (
	chunkFull = iota
	chunkFirst
	chunkMiddle
	chunkLast
)

// chunk is one decoded chunk header with its payload.
type chunk struct {
	place    int
	log      uint32 // 0 in a file without numbers
	numbered bool
	size     int // header and payload
	data     []byte
}

// maskedSum is the checksum as Pebble stores it.
func maskedSum(b []byte) uint32 {
	c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) // the table is made once
	return (c>>15 | c<<17) + 0xa282ead8
}

// parseChunk decodes the chunk that b starts with; ok is false when it is not
// a whole chunk with a right checksum.
func parseChunk(b []byte) (c chunk, ok bool) {
	if len(b) < headLegacy {
		return c, false
	}
	enc := b[6]
	if enc < 1 || enc > 12 {
		return c, false
	}
	head := [3]int{headLegacy, headLog, headSync}[(enc-1)/4]
	c.place = int(enc-1) % 4
	n := int(binary.LittleEndian.Uint16(b[4:]))
	c.size = head + n
	if c.size > len(b) {
		return c, false
	}
	if head > headLegacy {
		c.numbered, c.log = true, binary.LittleEndian.Uint32(b[7:])
	}
	if maskedSum(b[6:c.size]) != binary.LittleEndian.Uint32(b) {
		return c, false
	}
	c.data = b[head:c.size]
	return c, true
}

// Gap is a stretch of a file that holds no readable chunk.
type Gap struct {
	Offset, Length int64
	Tail           bool // nothing readable follows
	Short          bool // a tail that starts like a chunk longer than the rest of the file: a write that was cut short
}

// Log is what reading a log or MANIFEST found out.
type Log struct {
	Records int64
	Chunks  int64
	Ended   bool // the file was closed properly: its last chunk says so
	Gaps    []Gap
	Cut     bool // the last record has a beginning and no end
	CutAt   int64
}

// Record is one record of a log. Data is valid during the call only.
type Record struct {
	Offset   int64 // of its first chunk
	Data     []byte
	AfterGap bool // the file could not be read right before it
}

// maxRecord bounds the memory that one record may take: above the largest
// batch that Pebble writes.
const maxRecord = 4 << 30

// ReadLog calls each for every whole record of a file in Pebble's log format.
// number is the log's file number, 0 for a MANIFEST. Damage is stepped over
// and listed; the error is only each's or one of reading the file.
func ReadLog(r io.Reader, number uint64, each func(Record) error) (*Log, error) {
	lr := logReader{r: r, number: uint32(number), numbered: number != 0, each: each, out: &Log{}}
	for !lr.done {
		n, err := io.ReadFull(r, lr.block[:])
		if n == 0 || (err != nil && !errors.Is(err, io.ErrUnexpectedEOF)) {
			if err != nil && !errors.Is(err, io.EOF) {
				return lr.out, err
			}
			break
		}
		if err := lr.readBlock(lr.block[:n]); err != nil {
			return lr.out, err
		}
		lr.base += int64(n)
	}
	lr.finish()
	return lr.out, nil
}

type logReader struct {
	r        io.Reader
	number   uint32
	numbered bool
	each     func(Record) error
	out      *Log
	done     bool

	base  int64
	block [blockLen]byte

	record   []byte
	start    int64
	open     bool  // a record has begun
	bad      int64 // start of the current gap
	inGap    bool
	badZero  bool  // only zeroes since bad
	shortTo  int64 // where the chunk at bad would end, 0 when it is none
	recycled bool  // chunks of an older log since bad
	afterGap bool
}

// mine reports whether a chunk belongs to this file and not to an older one
// whose space was used again.
func (l *logReader) mine(c chunk) bool {
	return c.numbered == l.numbered && c.log == l.number*b2u(l.numbered)
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func (l *logReader) readBlock(b []byte) error {
	if l.inGap {
		l.badZero = l.badZero && allZero(b)
	}
	for at := 0; at < len(b) && !l.done; {
		rest := b[at:]
		if l.inGap && !l.likely(rest) {
			l.recycled = l.recycled || l.isOlder(rest)
			at++
			continue
		}
		if l.endMark(rest) {
			l.endGap(l.base + int64(at))
			l.out.Ended, l.done = true, true
			break
		}
		c, ok := parseChunk(rest)
		switch {
		case ok && l.mine(c):
			l.endGap(l.base + int64(at))
			if err := l.chunk(c, l.base+int64(at)); err != nil {
				return err
			}
			at += c.size
		case ok && l.numbered && c.numbered && c.log != l.number:
			// What an older log left in a file that was used again.
			if l.inGap {
				l.recycled = true
				at++
				continue
			}
			l.done = true
		case !l.inGap && len(rest) < headSync && allZero(rest):
			at = len(b) // the block's rest has no room for a chunk
		default:
			l.beginGap(l.base+int64(at), rest)
			at++
		}
	}
	return nil
}

// endMark reports whether b starts with what ends a log that was closed: the
// head of an empty chunk of the next log, without a checksum.
func (l *logReader) endMark(b []byte) bool {
	return l.numbered && len(b) >= headLog && allZero(b[:6]) && b[6] == 5 && binary.LittleEndian.Uint32(b[7:]) == l.number+1
}

// likely reports whether a chunk of this log may start here, without computing
// a checksum.
func (l *logReader) likely(b []byte) bool {
	if !l.numbered {
		return len(b) >= headLegacy && b[6] >= 1 && b[6] <= 4
	}
	if len(b) < headLog || b[6] < 5 || b[6] > 12 {
		return false
	}
	n := binary.LittleEndian.Uint32(b[7:])
	return n == l.number || n == l.number+1
}

func (l *logReader) beginGap(at int64, rest []byte) {
	if l.inGap {
		return
	}
	l.inGap, l.bad, l.badZero, l.recycled = true, at, allZero(rest), false
	l.shortTo = l.wouldEnd(at, rest)
	l.open, l.record = false, l.record[:0]
}

// isOlder reports whether b starts with a chunk of a log that had the file
// before.
func (l *logReader) isOlder(b []byte) bool {
	if !l.numbered || len(b) < headLog || b[6] < 5 || b[6] > 12 {
		return false
	}
	if n := binary.LittleEndian.Uint32(b[7:]); n == 0 || n >= l.number {
		return false
	}
	_, ok := parseChunk(b)
	return ok
}

// wouldEnd is where a chunk at b would end by its length, 0 when its head is
// not one of this log.
func (l *logReader) wouldEnd(at int64, b []byte) int64 {
	if len(b) < headLog {
		return at + headLog
	}
	if !l.likely(b) {
		return 0
	}
	return at + int64([3]int{headLegacy, headLog, headSync}[(b[6]-1)/4]) + int64(binary.LittleEndian.Uint16(b[4:]))
}

func (l *logReader) endGap(at int64) {
	if !l.inGap {
		return
	}
	l.inGap, l.afterGap = false, true
	l.out.Gaps = append(l.out.Gaps, Gap{Offset: l.bad, Length: at - l.bad})
}

func (l *logReader) chunk(c chunk, at int64) error {
	l.out.Chunks++
	first := c.place == chunkFull || c.place == chunkFirst
	if !first && !l.open {
		if !l.afterGap {
			l.out.Gaps = append(l.out.Gaps, Gap{Offset: at, Length: int64(c.size)})
			l.afterGap = true
		}
		return nil // the end of a record that began in a gap
	}
	if first {
		if l.open { // a record that never ended
			l.out.Gaps = append(l.out.Gaps, Gap{Offset: l.start, Length: at - l.start})
			l.afterGap = true
		}
		l.start, l.record = at, l.record[:0]
	}
	if len(l.record)+len(c.data) > maxRecord {
		l.open = false
		return nil
	}
	l.record = append(l.record, c.data...)
	l.open = c.place == chunkFirst || c.place == chunkMiddle
	if l.open {
		return nil
	}
	l.out.Records++
	after := l.afterGap
	l.afterGap = false
	return l.each(Record{Offset: l.start, Data: l.record, AfterGap: after})
}

func (l *logReader) finish() {
	switch {
	case l.inGap && l.badZero: // space that was reserved and never written is no damage
	case l.inGap && l.recycled && l.shortTo == 0: // neither is what an older log left behind the end
	case l.inGap:
		l.out.Gaps = append(l.out.Gaps, Gap{Offset: l.bad, Length: l.base - l.bad, Tail: true, Short: l.shortTo > l.base})
	case l.open:
		l.out.Cut, l.out.CutAt = true, l.start
	}
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
