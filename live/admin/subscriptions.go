package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"spoolctl/wire"
)

func subPath(t wire.TopicName, sub string, more ...string) string {
	return topicPath(t, append([]string{"subscription", sub}, more...)...)
}

// CreateSubscription makes a durable subscription at a message id; use
// wire.Earliest and wire.Latest for the ends.
func CreateSubscription(t wire.TopicName, sub string, at wire.MessageID) Request {
	return Request{Method: http.MethodPut, Path: subPath(t, sub), Body: mustJSON(FromWire(at))}
}

// DeleteSubscription removes a subscription; force also when it has consumers.
func DeleteSubscription(t wire.TopicName, sub string, force bool) Request {
	return Request{Method: http.MethodDelete, Path: subPath(t, sub), Query: flags(map[string]bool{"force": force})}
}

// SkipMessages acknowledges the next n messages without delivering them.
func SkipMessages(t wire.TopicName, sub string, n int64) Request {
	return Request{Method: http.MethodPost, Path: subPath(t, sub, "skip", strconv.FormatInt(n, 10))}
}

// ClearBacklog acknowledges everything.
func ClearBacklog(t wire.TopicName, sub string) Request {
	return Request{Method: http.MethodPost, Path: subPath(t, sub, "skip_all")}
}

// SeekMessage moves a subscription so that id is the next to be delivered.
func SeekMessage(t wire.TopicName, sub string, id wire.MessageID) Request {
	return Request{Method: http.MethodPost, Path: subPath(t, sub, "resetcursor"), Body: mustJSON(FromWire(id))}
}

// SeekTime moves a subscription to the first message published at or after at.
func SeekTime(t wire.TopicName, sub string, at time.Time) Request {
	return Request{Method: http.MethodPost, Path: subPath(t, sub, "resetcursor", strconv.FormatInt(at.UnixMilli(), 10))}
}

// PeekMessage reads the n-th message (from 1) that the subscription would get.
func PeekMessage(t wire.TopicName, sub string, n int) Request {
	return Request{Method: http.MethodGet, Path: subPath(t, sub, "position", strconv.Itoa(n))}
}

// Subscriptions lists the subscriptions of a topic; of all partitions together
// for a partitioned one.
func (c *Client) Subscriptions(ctx context.Context, t wire.TopicName) ([]string, error) {
	return get[[]string](ctx, c, Request{Method: http.MethodGet, Path: topicPath(t, "subscriptions")})
}

// Peek reads up to n entries that a subscription would get next and unpacks
// their batches. It moves nothing.
func (c *Client) Peek(ctx context.Context, t wire.TopicName, sub string, n int) ([]Message, error) {
	var list []Message
	for i := 1; i <= n; i++ {
		resp, err := c.Do(ctx, PeekMessage(t, sub, i))
		if i > 1 && errors.Is(err, ErrNotFound) || noMessage(err) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		msgs, err := parseMessage(resp)
		if err != nil {
			return list, fmt.Errorf("%w: message %d: %w", ErrAnswer, i, err)
		}
		list = append(list, msgs...)
	}
	return list, nil
}

// noMessage reports the 404 by which brokers say that there is no n-th
// message; a missing subscription is a 404 too, with another reason.
func noMessage(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Is(ErrNotFound) && strings.EqualFold(status.Reason, "Message not found")
}

// Health asks the broker for a full publish-and-read round trip.
func (c *Client) Health(ctx context.Context) error {
	_, err := c.Do(ctx, Request{Method: http.MethodGet, Path: path("brokers", "health")})
	return err
}
