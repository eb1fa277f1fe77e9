package admin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
	"spoolctl/storage"
)

// Options are what the API works on.
type Options struct {
	Registry *topic.Registry
	Store    *storage.Store
	Logger   *slog.Logger
	Cluster  string        // the only cluster's name
	Version  string        // the daemon's version
	Binary   func() string // pulsar://host:port that clients are told to connect to
	Web      func() string // http://host:port of this API
	Metrics  http.Handler  // serves /metrics; nil: 404
	Settings Settings      // the configuration as it can be changed at run time; nil: it cannot
	Timeout  time.Duration // for one request; default 30 s
}

// maxBody bounds request bodies, in bytes.
const maxBody = 1 << 20

// Server answers the admin API.
type Server struct {
	o   Options
	reg *topic.Registry
}

// New returns the handler of the web port.
func New(o Options) http.Handler {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	s := &Server{o: o, reg: o.Registry}
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.HandleFunc(r.pattern, s.handle(r))
	}
	if o.Metrics != nil {
		mux.Handle("GET /metrics", o.Metrics)
	}
	return collapse(refuseUnknown(mux))
}

// refuseUnknown answers what no route serves as JSON: 404, or 405 where the path is served by another method.
func refuseUnknown(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		// The multiplexer's own answer knows which of the two it is, and the methods that are served.
		refusal := &headerOnly{header: http.Header{}, status: http.StatusNotFound}
		own.ServeHTTP(refusal, r)
		if refusal.status == http.StatusMethodNotAllowed {
			allowed := refusal.header.Get("Allow")
			w.Header().Set("Allow", allowed)
			writeError(w, &statusError{http.StatusMethodNotAllowed, r.Method + " is not served here; use " + allowed})
			return
		}
		writeError(w, &statusError{http.StatusNotFound, r.Method + " " + r.URL.Path + " is not part of this broker's API"})
	})
}

// headerOnly takes an answer without its body.
type headerOnly struct {
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (h *headerOnly) Header() http.Header { return h.header }

// Write implements http.ResponseWriter.
func (h *headerOnly) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (h *headerOnly) WriteHeader(status int) { h.status = status }

// route is one call of the API; pattern is http.ServeMux's.
type route struct {
	pattern string
	do      func(ctx context.Context, c *call) (any, error)
}

func (s *Server) routes() []route {
	var all []route
	for _, group := range [][]route{s.tenantRoutes(), s.namespaceRoutes(), s.policyRoutes(), s.propertyRoutes(), s.settingsRoutes(), s.historyRoutes(), s.brokerRoutes(), s.schemaRoutes(), s.spoolRoutes()} {
		all = append(all, group...)
	}
	for _, domain := range []string{"persistent", "non-persistent"} {
		for _, group := range [][]route{s.topicRoutes(domain), s.partitionRoutes(domain), s.subscriptionRoutes(domain)} {
			all = append(all, group...)
		}
	}
	return all
}

// handle turns a route into a handler: nothing is 204, a *reply is sent as it is, anything else is JSON.
func (s *Server) handle(r route) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), s.o.Timeout)
		defer cancel()
		req.Body = http.MaxBytesReader(w, req.Body, maxBody)
		result, err := r.do(ctx, &call{r: req})
		if req.Method != http.MethodGet {
			s.o.Logger.Info("admin", "method", req.Method, "path", req.URL.Path, "peer", req.RemoteAddr, "error", err)
		}
		if err != nil {
			writeError(w, err)
			return
		}
		switch v := result.(type) {
		case nil:
			w.WriteHeader(http.StatusNoContent)
		case *reply:
			v.write(w)
		default:
			writeJSON(w, http.StatusOK, v)
		}
	}
}

// reply is an answer that is not plain JSON.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (p *reply) write(w http.ResponseWriter) {
	for k, v := range p.header {
		w.Header()[k] = v
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(p.body) // the peer may be gone
}

func text(s string) *reply {
	return &reply{status: http.StatusOK, header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, body: []byte(s)}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, `{"reason":"the answer cannot be encoded"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the peer may be gone
}

func writeError(w http.ResponseWriter, err error) {
	reason := err.Error()
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		reason = "the body is larger than " + strconv.FormatInt(large.Limit, 10) + " bytes"
	}
	writeJSON(w, statusOf(err), map[string]string{"reason": reason})
}

// statusError is a refusal with a status of its own.
type statusError struct {
	status int
	reason string
}

// Error implements error.
func (e *statusError) Error() string { return e.reason }

// statusOf is the one table from refusals to HTTP status codes.
func statusOf(err error) int {
	var own *statusError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		return own.status
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	switch fault.KindOf(err) {
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.TenantNotFound, fault.NamespaceNotFound, fault.TopicNotFound, fault.SubscriptionNotFound, fault.MessageNotFound, fault.ConsumerNotFound:
		return http.StatusNotFound
	case fault.Exists, fault.Conflict, fault.ProducerBusy, fault.ProducerFenced, fault.ConsumerBusy, fault.ConsumerAssign,
		fault.QuotaHeld, fault.QuotaExceeded:
		return http.StatusConflict
	case fault.Precondition:
		return http.StatusPreconditionFailed
	case fault.NotAllowed, fault.Terminated:
		return http.StatusMethodNotAllowed
	case fault.Unsupported:
		return http.StatusNotImplemented
	case fault.Unauthorized:
		return http.StatusForbidden
	case fault.NotReady:
		return http.StatusServiceUnavailable
	case fault.TooMany:
		return http.StatusTooManyRequests
	}
	return http.StatusInternalServerError
}

// collapse lets doubled slashes through, as Pulsar does, without a redirect.
func collapse(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.EscapedPath(), "//") || path.Clean(r.URL.Path) != r.URL.Path {
			raw := path.Clean(r.URL.EscapedPath())
			u := *r.URL
			if decoded, err := u.Parse(raw); err == nil {
				u.Path, u.RawPath = decoded.Path, decoded.RawPath
			}
			r2 := r.Clone(r.Context())
			r2.URL = &u
			r = r2
		}
		next.ServeHTTP(w, r)
	})
}
