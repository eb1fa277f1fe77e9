package inspect

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// SupportOptions are for Session.Support.
type SupportOptions struct {
	Redact  bool   // names become hashes; texts that people wrote are left out
	Program string // who writes
	System  any    // what the caller knows of the machine; may be nil
}

// maxSupportRows bounds each list of a support archive.
const maxSupportRows = 20_000

// Support writes one tar.gz with what a bug report needs: what the other verbs
// say of the spool, and what is wrong with it. It never holds payloads, keys of
// messages or producers' properties.
func (s *Session) Support(ctx context.Context, w io.Writer, o SupportOptions) (err error) {
	z := gzip.NewWriter(w)
	a := &supportArchive{tar: tar.NewWriter(z), at: s.o.Now().UTC()}
	if o.Redact {
		if a.redact, err = s.redactor(ctx); err != nil {
			return err
		}
	}
	failures := map[string]string{}
	for _, part := range s.supportParts(o) {
		v, err := part.read(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // a spool that a report is about may be anything
			failures[part.name] = firstLine(err)
			continue
		}
		if err := a.add(part.name+".json", v); err != nil {
			return err
		}
	}
	err = a.add("problems.json", map[string]any{"problems": s.problems, "failures": failures, "notes": s.Notes()})
	return errors.Join(err, a.tar.Close(), z.Close())
}

type supportPart struct {
	name string
	read func(ctx context.Context) (any, error)
}

func (s *Session) supportParts(o SupportOptions) []supportPart {
	return []supportPart{
		{"report", func(context.Context) (any, error) {
			return map[string]any{"program": o.Program, "written": s.o.Now().UTC(), "redacted": o.Redact, "system": o.System}, nil
		}},
		{"summary", func(ctx context.Context) (any, error) { return s.Summary(ctx) }},
		{"topics", func(ctx context.Context) (any, error) {
			l, err := s.Topics(ctx, TopicsOptions{})
			return limited(l.Topics, l.Totals), err
		}},
		{"ledgers", func(ctx context.Context) (any, error) {
			l, err := s.Ledgers(ctx, Selector{})
			return limited(l.Ledgers, l.Totals), err
		}},
		{"cursors", func(ctx context.Context) (any, error) {
			l, err := s.Cursors(ctx, Selector{})
			return limited(l.Cursors, l.Totals), err
		}},
		{"backlog", func(ctx context.Context) (any, error) {
			l, err := s.Backlog(ctx, BacklogOptions{Explain: true})
			return limited(l.Backlogs, l.Totals), err
		}},
		{"policies", func(ctx context.Context) (any, error) {
			l, err := s.Policies(ctx, PoliciesOptions{})
			return limited(l, nil), err
		}},
		{"schemas", func(ctx context.Context) (any, error) {
			l, err := s.Schemas(ctx, Selector{})
			return limited(l, nil), err
		}},
		{"du", func(ctx context.Context) (any, error) {
			l, err := s.DiskUsage(ctx, ByFamily)
			return limited(l.Rows, l.Totals), err
		}},
		{"lsm", func(ctx context.Context) (any, error) {
			l, err := s.Tables(ctx)
			return limited(l.Tables, l.Totals), err
		}},
		{"files", func(ctx context.Context) (any, error) {
			l, err := s.Files(ctx)
			return limited(l.Files, l.Totals), err
		}},
		{"manifest", func(context.Context) (any, error) { return limited(s.Edits(), nil), nil }},
		{"wal", func(ctx context.Context) (any, error) {
			l, err := s.Log(ctx)
			if err != nil {
				return nil, err
			}
			rows, err := take(l.Rows)
			return limited(rows, l.Totals), err
		}},
		{"verify", func(ctx context.Context) (any, error) {
			v, err := s.Verify(ctx, VerifyOptions{Fast: true})
			if err != nil {
				return nil, err
			}
			return limited(v.Findings, v), nil
		}},
	}
}

// supportList is a list in a support archive.
type supportList struct {
	Items   any  `json:"items"`
	Total   int  `json:"total"`
	Cut     bool `json:"truncated"`
	Summary any  `json:"summary,omitempty"`
}

func limited[T any](rows []T, totals any) supportList {
	return supportList{Items: rows[:min(len(rows), maxSupportRows)], Total: len(rows), Cut: len(rows) > maxSupportRows, Summary: totals}
}

// take reads rows up to one more than a list holds.
func take[T any](rows iter.Seq2[T, error]) (out []T, err error) {
	for r, err := range rows {
		if err != nil {
			return out, err
		}
		if out = append(out, r); len(out) > maxSupportRows {
			break
		}
	}
	return out, nil
}

// supportArchive is the tar that is written.
type supportArchive struct {
	tar    *tar.Writer
	at     time.Time
	redact *redactor // nil: names stay
}

func (a *supportArchive) add(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if a.redact != nil {
		var tree any
		if err := json.Unmarshal(b, &tree); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if b, err = json.Marshal(a.redact.tree("", tree)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := a.tar.WriteHeader(&tar.Header{Name: "support/" + name, Mode: 0o600, Size: int64(len(b)), ModTime: a.at}); err != nil {
		return err
	}
	_, err = a.tar.Write(b)
	return err
}
