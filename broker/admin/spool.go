package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/storage"
)

// checkpointPrefix marks the checkpoints that this API makes and may remove.
const checkpointPrefix = "inspect-"

func (s *Server) spoolRoutes() []route {
	return []route{
		{"GET /spool/v1/health", s.health},
		{"POST /spool/v1/checkpoint", s.makeCheckpoint},
		{"DELETE /spool/v1/checkpoint/{name}", s.dropCheckpoint},
	}
}

type health struct {
	Status string `json:"status"` // "ok" or "unhealthy"
	Reason string `json:"reason,omitempty"`
	Spool  string `json:"spool"`
	UUID   string `json:"uuid"`
}

func (s *Server) health(context.Context, *call) (any, error) {
	h := health{Status: "ok", Spool: s.o.Store.Dir(), UUID: s.o.Store.Identity().UUID}
	if reason := s.ailment(); reason != "" {
		h.Status, h.Reason = "unhealthy", reason
		return &reply{status: http.StatusServiceUnavailable, header: http.Header{"Content-Type": {"application/json"}}, body: mustJSON(h)}, nil
	}
	return h, nil
}

// ailment says what is wrong with the spool, empty when nothing is. Details are for the log: anybody may ask for health.
func (s *Server) ailment() string {
	err := s.o.Store.Health()
	switch {
	case err == nil:
		return ""
	case errors.As(err, new(*storage.NoSpaceError)):
		return "the disk is nearly full and messages are refused; make room, or lower min-free-space"
	default:
		return "the spool cannot be written; see the broker's log"
	}
}

// checkpoint is a hard-link copy of the spool, on the broker's machine.
type checkpoint struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

func (s *Server) makeCheckpoint(ctx context.Context, _ *call) (any, error) {
	root, err := filepath.Abs(filepath.Join(s.o.Store.Dir(), storage.CheckpointsDir))
	if err != nil {
		return nil, err
	}
	name := checkpointPrefix + time.Now().UTC().Format("20060102T150405.000000000")
	dir := filepath.Join(root, name)
	if err := s.o.Store.Checkpoint(ctx, dir); err != nil {
		if rmErr := os.RemoveAll(dir); rmErr != nil {
			err = fmt.Errorf("%w (and %w)", err, rmErr)
		}
		return nil, fault.Wrap(fault.Persistence, err, "cannot make a checkpoint")
	}
	return checkpoint{name, dir}, nil
}

func (s *Server) dropCheckpoint(_ context.Context, c *call) (any, error) {
	name := c.part("name")
	if !strings.HasPrefix(name, checkpointPrefix) || name != filepath.Base(name) {
		return nil, fault.New(fault.Invalid, "%q is not a checkpoint made for an inspection", name)
	}
	dir := filepath.Join(s.o.Store.Dir(), storage.CheckpointsDir, name)
	if _, err := os.Stat(dir); err != nil {
		return nil, &statusError{http.StatusNotFound, "no such checkpoint"}
	}
	return nil, os.RemoveAll(dir)
}
