package admin

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// Request is one call of the admin API, not yet sent.
type Request struct {
	Method string
	// Path is percent-encoded and starts with a slash.
	Path  string
	Query url.Values
	// Body is what is sent; nil sends no body.
	Body []byte
	// ContentType of Body; empty is application/json.
	ContentType string
}

// URL is the full address at a base such as http://127.0.0.1:8080.
func (r Request) URL(base string) string {
	u := strings.TrimRight(base, "/") + r.Path
	if len(r.Query) > 0 {
		u += "?" + r.Query.Encode()
	}
	return u
}

func (r Request) header(agent string) [][2]string {
	h := [][2]string{{"Accept", "application/json, */*;q=0.5"}}
	if agent != "" {
		h = append(h, [2]string{"User-Agent", agent})
	}
	if len(r.Body) > 0 {
		ct := r.ContentType
		if ct == "" {
			ct = "application/json"
		}
		h = append(h, [2]string{"Content-Type", ct})
	}
	return h
}

// Text shows the request as a dry run does: method, URL, content type, body.
// Credentials are not part of a Request.
func (r Request) Text(base string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL(base))
	if len(r.Body) > 0 {
		for _, h := range r.header("") {
			if h[0] == "Content-Type" {
				fmt.Fprintf(&b, "%s: %s\n", h[0], h[1])
			}
		}
		fmt.Fprintf(&b, "\n%s\n", r.Body)
	}
	return b.String()
}

// path joins percent-encoded parts below /admin/v2.
func path(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return "/admin/v2/" + strings.Join(parts, "/")
}

// mustJSON encodes values of this package's own types, which cannot fail.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}

func flags(set map[string]bool) url.Values {
	q := url.Values{}
	for k, on := range set {
		if on {
			q.Set(k, "true")
		}
	}
	return q
}
