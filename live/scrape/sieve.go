package scrape

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// sieve takes the samples of single topics out of a text in the Prometheus format, where they are plain, and leaves an
// empty line for each, so that the parser behind it counts lines right. A page of ten thousand topics is nearly only such
// lines, and a parser that makes objects of them takes ten times as long. Whatever is unusual in a line, or wrong, is left
// to the parser.
type sieve struct {
	in     *bufio.Reader
	into   *Snapshot
	family string // of the last TYPE line, when its samples are single numbers; else empty
	rest   []byte // to be read next; valid until the next line is read
	long   bool   // the last piece of a line was not its end
	err    error
}

const longestLine = 64 << 10

func newSieve(r io.Reader, into *Snapshot) *sieve {
	return &sieve{in: bufio.NewReaderSize(r, longestLine), into: into}
}

// Read implements io.Reader.
func (s *sieve) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if len(s.rest) == 0 {
			if s.err != nil {
				break
			}
			s.next()
			continue
		}
		k := copy(b[n:], s.rest)
		s.rest = s.rest[k:]
		n += k
	}
	if n == 0 {
		return 0, s.err
	}
	return n, nil
}

// next takes a line.
func (s *sieve) next() {
	line, err := s.in.ReadSlice('\n')
	whole := err == nil && !s.long
	s.long = errors.Is(err, bufio.ErrBufferFull)
	if err != nil && !s.long {
		s.err = err
	}
	s.rest = line
	switch {
	case !whole:
	case line[0] == '#':
		s.comment(line)
	case s.family != "" && s.sample(line):
		s.rest = line[len(line)-1:]
	}
}

// comment looks for the type of the samples that follow.
func (s *sieve) comment(line []byte) {
	rest, ok := bytes.CutPrefix(line, []byte("# TYPE "))
	if !ok {
		return
	}
	s.family = ""
	name, kind, _ := bytes.Cut(bytes.TrimSuffix(rest, []byte("\n")), []byte(" "))
	switch string(kind) {
	case "gauge", "counter", "untyped":
		s.family = string(name)
	}
}

// sample takes a line when it is a plain sample of a topic or of something that belongs to one.
func (s *sieve) sample(line []byte) bool {
	rest := line
	if len(rest) <= len(s.family) || string(rest[:len(s.family)]) != s.family || rest[len(s.family)] != '{' {
		return false
	}
	rest = rest[len(s.family)+1:]
	var ns, topic, sub []byte
	detail := false
	for {
		key, value, after, ok := cutLabel(rest)
		if !ok {
			return false
		}
		switch string(key) {
		case "namespace":
			ns = value
		case "topic":
			topic = value
		case "subscription":
			sub = value
		case "partition":
			if len(value) > 0 && string(value) != "-1" {
				return false
			}
		default:
			detail = detail || isDetail(string(key), string(value))
		}
		if rest = after[1:]; after[0] == '}' {
			break
		}
	}
	v, ok := parseNumber(rest)
	if !ok || len(topic) == 0 {
		return false
	}
	if detail {
		return true
	}
	t := s.into.Topics[string(topic)]
	if t == nil {
		t = at(s.into.Topics, string(topic), string(ns))
	}
	if len(sub) == 0 {
		t.set(s.family, v)
		return true
	}
	one := t.Subscriptions[string(sub)]
	if one == nil {
		one = t.subscription(string(sub))
	}
	set(one.field(s.family), v)
	return true
}

// cutLabel cuts key="value" off b; after begins with the comma or brace that follows. Only plain names and ASCII without
// escapes count.
func cutLabel(b []byte) (key, value, after []byte, ok bool) {
	i := 0
	for i < len(b) && (b[i] == '_' || b[i]|0x20 >= 'a' && b[i]|0x20 <= 'z') {
		i++
	}
	if i == 0 || i+1 >= len(b) || b[i] != '=' || b[i+1] != '"' {
		return nil, nil, nil, false
	}
	key, b = b[:i], b[i+2:]
	end := bytes.IndexByte(b, '"')
	if end < 0 || end+1 >= len(b) || b[end+1] != ',' && b[end+1] != '}' {
		return nil, nil, nil, false
	}
	for _, c := range b[:end] {
		if c == '\\' || c >= 0x80 {
			return nil, nil, nil, false
		}
	}
	return key, b[:end], b[end+1:], true
}

// parseNumber reads the end of a sample: a space, a number, the end of the line.
func parseNumber(b []byte) (Value, bool) {
	if len(b) < 3 || b[0] != ' ' || b[len(b)-1] != '\n' {
		return Value{}, false
	}
	b = b[1 : len(b)-1]
	if len(b) <= 15 {
		n := int64(0)
		for _, c := range b {
			if c < '0' || c > '9' {
				n = -1
				break
			}
			n = 10*n + int64(c-'0')
		}
		if n >= 0 {
			return Known(float64(n)), true
		}
	}
	if bytes.ContainsAny(b, " _pPxX") { // a timestamp, or numbers that Go knows and the format does not
		return Value{}, false
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return Known(v), err == nil
}
