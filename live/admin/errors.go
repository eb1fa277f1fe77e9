package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// What a refused call is about; a *StatusError is one of these by errors.Is.
var (
	ErrUnauthorized = errors.New("not authenticated")               // 401
	ErrForbidden    = errors.New("not allowed")                     // 403
	ErrNotFound     = errors.New("not found")                       // 404 with the broker's reason
	ErrUnsupported  = errors.New("not supported by this broker")    // 404 without one, 405 without one, 501
	ErrConflict     = errors.New("conflict")                        // 409
	ErrPrecondition = errors.New("precondition failed")             // 412
	ErrServer       = errors.New("the broker failed")               // 5xx
	ErrAnswer       = errors.New("the answer is not the admin API") // 2xx, but not JSON
)

// UnreachableError says that no usable answer came: refused, timed out, cut off.
type UnreachableError struct {
	URL string
	Err error
}

func (e *UnreachableError) Error() string { return fmt.Sprintf("cannot reach %s: %v", e.URL, e.Err) }
func (e *UnreachableError) Unwrap() error { return e.Err }

// StatusError is an answer with a status of 300 or more.
type StatusError struct {
	Method, URL string
	Status      int
	// Reason is the broker's own text, "" when it gave none.
	Reason string
}

func (e *StatusError) Error() string {
	if errors.Is(e, ErrUnsupported) {
		return fmt.Sprintf("%v: %s %s", ErrUnsupported, e.Method, e.URL)
	}
	if e.Reason != "" {
		return e.Reason
	}
	return fmt.Sprintf("%d %s for %s %s", e.Status, strings.ToLower(http.StatusText(e.Status)), e.Method, e.URL)
}

// Is sorts the status into the Err values of this package.
func (e *StatusError) Is(target error) bool {
	switch target {
	case ErrUnauthorized:
		return e.Status == http.StatusUnauthorized
	case ErrForbidden:
		return e.Status == http.StatusForbidden
	case ErrNotFound:
		return e.Status == http.StatusNotFound && e.Reason != ""
	case ErrUnsupported:
		return e.Reason == "" && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) ||
			e.Status == http.StatusNotImplemented
	case ErrConflict:
		return e.Status == http.StatusConflict
	case ErrPrecondition:
		return e.Status == http.StatusPreconditionFailed
	case ErrServer:
		return e.Status >= 500 && e.Status != http.StatusNotImplemented
	}
	return false
}

// maxReason bounds how much of a body that is not JSON becomes a reason.
const maxReason = 300

func statusError(resp *http.Response, body []byte) *StatusError {
	e := &StatusError{Method: resp.Request.Method, URL: resp.Request.URL.Redacted(), Status: resp.StatusCode}
	var doc struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
		Detail  string `json:"detail"`
	}
	text := strings.TrimSpace(string(body))
	switch {
	case json.Unmarshal(body, &doc) == nil:
		for _, r := range []string{doc.Reason, doc.Detail, doc.Message} {
			if r != "" {
				e.Reason = r
				break
			}
		}
	case strings.HasPrefix(text, "<") || strings.Contains(resp.Header.Get("Content-Type"), "html"):
		// An HTML page tells a person nothing on a terminal.
	default:
		// Older brokers answer 500 with a stack trace: its first line is the reason.
		text, _, _ = strings.Cut(text, "\n")
		if len(text) > maxReason {
			text = strings.ToValidUTF8(text[:maxReason], "") + "…"
		}
		if resp.StatusCode != http.StatusNotFound || !strings.Contains(strings.ToLower(text), "page not found") {
			e.Reason = strings.TrimSpace(text)
		}
	}
	return e
}
