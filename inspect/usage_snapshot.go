package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// UsageSchema is the version of UsageSnapshot's form.
const UsageSchema = 1

// DefaultUsageTopics is of how many topics a snapshot is made by default.
const DefaultUsageTopics = 1_000_000

// ErrPartial says that not everything could be accounted for: a part of a
// spool is never given for the whole.
var ErrPartial = errors.New("the account of the spool is not complete")

// UsageSnapshot is a completed account of a whole spool.
type UsageSnapshot struct {
	SchemaVersion int       `json:"schemaVersion"`
	Spool         string    `json:"spool"` // its uuid
	CompletedAt   time.Time `json:"completedAt"`
	Seconds       float64   `json:"durationSeconds"`
	MaxObjects    int       `json:"maxObjects"` // topics that it could have had
	Build         string    `json:"build"`
	Totals        Usage     `json:"totals"`
	Anomalies     []string  `json:"anomalies"` // what is to be known about the source
	Topics        []Usage   `json:"topics"`
}

// UsageSnapshotOptions are for Session.UsageSnapshot.
type UsageSnapshotOptions struct {
	MaxTopics int    // of more, no snapshot is made; default DefaultUsageTopics
	Build     string // the program and its version
}

// UsageSnapshot accounts the space of the whole spool to its topics. It returns
// ErrPartial when something could not be read or there are too many topics.
func (s *Session) UsageSnapshot(ctx context.Context, o UsageSnapshotOptions) (*UsageSnapshot, error) {
	if o.MaxTopics == 0 {
		o.MaxTopics = DefaultUsageTopics
	}
	began := s.o.Now()
	heads, err := again(s, func() (int, error) {
		h, err := s.heads(ctx)
		return len(h), err
	})
	if err != nil {
		return nil, err
	}
	if heads > o.MaxTopics {
		return nil, fmt.Errorf("%w: %d topics, at most %d are taken", ErrPartial, heads, o.MaxTopics)
	}
	list, err := s.Usage(ctx, ByTopic, Selector{})
	if err != nil {
		return nil, err
	}
	if n := len(s.problems); n > 0 {
		return nil, fmt.Errorf("%w: %d places could not be read", ErrPartial, n)
	}
	done := s.o.Now()
	return &UsageSnapshot{
		SchemaVersion: UsageSchema, Spool: s.source.UUID, CompletedAt: done.UTC(), Seconds: done.Sub(began).Seconds(), MaxObjects: o.MaxTopics,
		Build: o.Build, Totals: list.Totals, Anomalies: append([]string{}, s.Notes()...), Topics: append([]Usage{}, list.Rows...),
	}, nil
}
