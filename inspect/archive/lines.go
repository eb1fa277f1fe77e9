package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// line is one part of an archive as a line of JSON: an object with one field, which says what it is.
type line struct {
	Header   *Header   `json:"header,omitempty"`
	Resource *Resource `json:"resource,omitempty"`
	Schema   *Schema   `json:"schema,omitempty"`
	Topic    *Topic    `json:"topic,omitempty"`
	Ledger   *Ledger   `json:"ledger,omitempty"`
	Entry    *Entry    `json:"entry,omitempty"`
	Gap      *Gap      `json:"gap,omitempty"`
	Cursor   *Cursor   `json:"cursor,omitempty"`
	Acks     *Acks     `json:"acks,omitempty"`
	Producer *Producer `json:"producer,omitempty"`
	End      *end      `json:"end,omitempty"`
}

// end is the last line.
type end struct {
	Totals
	Lines int `json:"lines"` // that came before it
}

// part is what the line holds, nil when that is not exactly one part.
func (l *line) part() (part any) {
	for _, p := range []any{l.Header, l.Resource, l.Schema, l.Topic, l.Ledger, l.Entry, l.Gap, l.Cursor, l.Acks, l.Producer, l.End} {
		if reflect.ValueOf(p).IsNil() {
			continue
		}
		if part != nil {
			return nil
		}
		part = p
	}
	return part
}

// WriteLines writes the archive that r reads as lines of JSON, with the same content.
func WriteLines(w io.Writer, r *Reader) error {
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	if err := enc.Encode(line{Header: &r.header}); err != nil {
		return err
	}
	for n := 1; ; n++ {
		part, err := r.Next()
		if errors.Is(err, io.EOF) {
			return errors.Join(enc.Encode(line{End: &end{r.totals, n}}), out.Flush())
		}
		if err != nil {
			return err
		}
		var l line
		switch v := part.(type) {
		case *Resource:
			l.Resource = v
		case *Schema:
			l.Schema = v
		case *Topic:
			l.Topic = v
		case *Ledger:
			l.Ledger = v
		case *Entry:
			l.Entry = v
		case *Gap:
			l.Gap = v
		case *Cursor:
			l.Cursor = v
		case *Acks:
			l.Acks = v
		case *Producer:
			l.Producer = v
		default:
			return fmt.Errorf("%w: a second header", ErrDamaged)
		}
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
}

// maxLine bounds a line, in bytes: the largest frame in base64, and its field names.
const maxLine = maxFrame/3*4 + 1<<20

// LineReader reads what WriteLines wrote. It is for one goroutine.
type LineReader struct {
	in     *bufio.Scanner
	n      int // lines so far
	header Header
	totals Totals
	err    error
}

// NewLineReader begins to read lines. Errors wrap ErrFormat, ErrDamaged, and name the line.
func NewLineReader(r io.Reader) (*LineReader, error) {
	out := &LineReader{in: bufio.NewScanner(r)}
	out.in.Buffer(nil, maxLine)
	part, err := out.read()
	header, ok := part.(*Header)
	if err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("%w: line 1 is no archive's header", ErrFormat), out.in.Err())
	}
	out.header = *header
	return out, nil
}

// Header says where the lines come from.
func (r *LineReader) Header() Header { return r.header }

// Line is the number of the line that was read last, from 1.
func (r *LineReader) Line() int { return r.n }

// Totals are what was read so far; after io.EOF they are those of all.
func (r *LineReader) Totals() Totals { return r.totals }

// Next returns the next part as Reader.Next does.
func (r *LineReader) Next() (any, error) {
	if r.err != nil {
		return nil, r.err
	}
	v, err := r.next()
	if r.err = err; err != nil && !errors.Is(err, io.EOF) {
		r.err = fmt.Errorf("%w: line %d: %w", ErrDamaged, r.n, err)
	}
	return v, r.err
}

func (r *LineReader) next() (any, error) {
	part, err := r.read()
	if err != nil {
		return nil, err
	}
	switch v := part.(type) {
	case *Entry:
		if v.ID < 0 || v.Messages < 1 {
			return nil, fmt.Errorf("entry %d with %d messages", v.ID, v.Messages)
		}
	case *Gap:
		if err := v.check(); err != nil {
			return nil, err
		}
	case *Header:
		return nil, errors.New("a second header")
	case *end:
		if want := (end{r.totals, r.n - 1}); *v != want {
			return nil, fmt.Errorf("it says %+v, and there are %+v", *v, want)
		}
		if r.in.Scan() {
			r.n++
			return nil, errors.New("something follows the end")
		}
		return nil, firstError(r.in.Err(), io.EOF)
	}
	r.totals.add(part)
	return part, nil
}

// read takes one line, which has exactly one part.
func (r *LineReader) read() (any, error) {
	r.n++
	if !r.in.Scan() {
		return nil, firstError(r.in.Err(), errors.New("it is cut short: the line with the end is missing"))
	}
	l := &line{}
	dec := json.NewDecoder(bytes.NewReader(r.in.Bytes()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(l); err != nil {
		return nil, err
	}
	part := l.part()
	if part == nil || dec.More() {
		return nil, errors.New("a line holds exactly one part")
	}
	return part, nil
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
