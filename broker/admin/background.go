package admin

import (
	"context"
	"net/http"

	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
	"spoolctl/wire"
)

// compact starts compacting a topic, or each partition of one; those that are being compacted already do not keep the
// others from it.
func (s *Server) compact(ctx context.Context, _ *call, name wire.TopicName) (any, error) {
	var running error
	err := s.each(ctx, name, func(n wire.TopicName) error {
		t, err := s.reg.Get(ctx, n)
		if err != nil {
			return err
		}
		if err = t.Compact(); fault.Is(err, fault.Conflict) {
			running, err = err, nil
		}
		return err
	})
	return nil, errorOr(err, running)
}

func (s *Server) compactionStatus(ctx context.Context, _ *call, name wire.TopicName) (any, error) {
	t, err := s.single(ctx, name, "Getting the status of compaction")
	if err != nil {
		return nil, err
	}
	status, err := t.CompactionStatus()
	return status, err
}

// single gives a topic that is no partitioned one.
func (s *Server) single(ctx context.Context, name wire.TopicName, what string) (*topic.Topic, error) {
	if err := s.whole(name, what); err != nil {
		return nil, err
	}
	return s.reg.Get(ctx, name)
}

// offload starts offloading what is before a message.
func (s *Server) offload(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	before, _, err := startBody(c)
	if err != nil {
		return nil, err
	}
	if before == wire.Latest() || before.Ledger < 0 {
		return nil, &statusError{http.StatusBadRequest, `say up to which message: the body must be a message id {"ledgerId":…,"entryId":…}`}
	}
	t, err := s.single(ctx, name, "Offload")
	if err != nil {
		return nil, err
	}
	return nil, t.Offload(before)
}

// offloadProcess is Pulsar's status of offloading.
type offloadProcess struct {
	topic.JobStatus
	FirstUnoffloaded messageID `json:"firstUnoffloadedMessage"`
}

func (s *Server) offloadStatus(ctx context.Context, _ *call, name wire.TopicName) (any, error) {
	t, err := s.single(ctx, name, "Getting the status of offloading")
	if err != nil {
		return nil, err
	}
	status, first, err := t.OffloadStatus()
	return offloadProcess{status, idOf(first, name)}, err
}
