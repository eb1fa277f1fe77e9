package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// get sends a request and decodes the answer. An empty body, which Pulsar uses
// for "not set", leaves the zero value.
func get[T any](ctx context.Context, c *Client, r Request) (T, error) {
	var v T
	resp, err := c.Do(ctx, r)
	if err != nil {
		return v, err
	}
	body := bytes.TrimSpace(resp.Body)
	if len(body) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return v, fmt.Errorf("%w: %s %s: %w", ErrAnswer, r.Method, r.URL(c.URL()), err)
	}
	return v, nil
}

// JSON sends a request and returns the answer's body, checked to be JSON; nil
// for an empty body.
func (c *Client) JSON(ctx context.Context, r Request) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, r)
}

func answerError(err error) error { return fmt.Errorf("%w: %w", ErrAnswer, err) }
