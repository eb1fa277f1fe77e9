package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
	"spoolctl/wire"
)

func (s *Server) subscriptionRoutes(domain string) []route {
	one := "/admin/v2/" + domain + "/{tenant}/{namespace}/{topic}"
	sub := one + "/subscription/{subscription}"
	on := topicRoute(domain)
	return []route{
		on("GET "+one+"/subscriptions", s.listSubscriptions),
		on("PUT "+sub, s.createSubscription),
		on("DELETE "+sub, s.deleteSubscription),
		on("POST "+sub+"/skip/{count}", s.skip),
		on("POST "+sub+"/skip_all", s.skipAll),
		on("POST "+sub+"/resetcursor/{timestamp}", s.resetToTime),
		on("POST "+sub+"/resetcursor", s.resetToPosition),
		on("POST "+sub+"/expireMessages/{seconds}", s.expire),
		on("POST "+one+"/all_subscription/expireMessages/{seconds}", s.expireAll),
		on("GET "+sub+"/position/{position}", s.peek),
		on("GET "+one+"/ledger/{ledger}/entry/{entry}", s.messageAt),
		on("GET "+sub+"/properties", s.subscriptionProperties),
	}
}

func (s *Server) listSubscriptions(ctx context.Context, _ *call, name wire.TopicName) (any, error) {
	seen := map[string]bool{}
	err := s.each(ctx, name, func(n wire.TopicName) error {
		t, err := s.reg.Get(ctx, n)
		if err != nil {
			return err
		}
		for _, sub := range t.Subscriptions() {
			seen[sub.Name()] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := []string{}
	for n := range seen {
		out = append(out, n)
	}
	slices.Sort(out)
	return out, nil
}

// startBody reads the position of a new subscription or of a reset: nothing or "latest", "earliest", or a message id.
func startBody(c *call) (p wire.Position, excluded bool, err error) {
	var raw json.RawMessage
	if err := c.body(&raw); err != nil {
		return p, false, err
	}
	raw = bytes.TrimSpace(raw)
	var word string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return wire.Latest(), false, nil
	case json.Unmarshal(raw, &word) == nil:
		p, err := wire.ParsePosition(word)
		if err != nil {
			return p, false, &statusError{http.StatusBadRequest, err.Error()}
		}
		return p, false, nil
	}
	// Numbers may come as strings.
	var id struct {
		LedgerID   *json.Number `json:"ledgerId"`
		EntryID    *json.Number `json:"entryId"`
		IsExcluded bool         `json:"isExcluded"`
	}
	if err := json.Unmarshal(raw, &id); err != nil || id.LedgerID == nil || id.EntryID == nil {
		return p, false, &statusError{http.StatusBadRequest, `the body must be a message id {"ledgerId":…,"entryId":…}, "earliest" or "latest"`}
	}
	l, err1 := id.LedgerID.Int64()
	e, err2 := id.EntryID.Int64()
	if err1 != nil || err2 != nil {
		return p, false, &statusError{http.StatusBadRequest, "ledgerId and entryId must be whole numbers"}
	}
	return wire.Position{Ledger: l, Entry: e}, id.IsExcluded, nil
}

func (s *Server) createSubscription(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	at, _, err := startBody(c)
	if err != nil {
		return nil, err
	}
	if at != wire.Latest() && at != wire.Earliest() {
		at.Entry-- // the message itself is to be delivered
	}
	return nil, s.each(ctx, name, func(n wire.TopicName) error {
		t, err := s.reg.GetOrCreate(ctx, n, true) // as Pulsar: where topics may be created by use
		if err != nil {
			return err
		}
		err = t.CreateSubscription(ctx, topic.NewSubscription{Name: c.subscription(), Durable: true, At: at, Replicated: c.flag("replicated")})
		if fault.Is(err, fault.Exists) {
			return &statusError{http.StatusConflict, "Subscription already exists for topic"}
		}
		return err
	})
}

// withSubscription does something with a subscription, on every partition of a partitioned topic.
func (s *Server) withSubscription(ctx context.Context, c *call, name wire.TopicName, do func(*topic.Subscription) error) error {
	return s.each(ctx, name, func(n wire.TopicName) error {
		t, err := s.reg.Get(ctx, n)
		if err != nil {
			return err
		}
		sub, err := t.Subscription(c.part("subscription")) // the name as it is, if there is one like that
		if err != nil {
			sub, err = t.Subscription(c.subscription())
		}
		if err != nil {
			return err
		}
		return do(sub)
	})
}

func (s *Server) deleteSubscription(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	return nil, s.withSubscription(ctx, c, name, func(sub *topic.Subscription) error { return sub.Delete(ctx, c.flag("force")) })
}

// whole refuses what cannot be meant for all partitions together.
func (s *Server) whole(name wire.TopicName, what string) error {
	_, partitioned, err := s.reg.Partitioned(name)
	if err == nil && partitioned {
		err = fault.New(fault.NotAllowed, "%s on a partitioned topic is not allowed; name a partition", what)
	}
	return err
}

func (s *Server) skip(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	n, err := c.number("count")
	if err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, fault.New(fault.Precondition, "the number of messages to skip must be more than 0")
	}
	if err := s.whole(name, "Skip messages"); err != nil {
		return nil, err
	}
	return nil, s.withSubscription(ctx, c, name, func(sub *topic.Subscription) error {
		_, err := sub.Skip(ctx, n)
		return err
	})
}

func (s *Server) skipAll(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	return nil, s.withSubscription(ctx, c, name, func(sub *topic.Subscription) error { return sub.Clear(ctx) })
}

// age reads how old messages to be expired must be, as a time.
func (s *Server) age(c *call) (time.Time, error) {
	n, err := c.number("seconds")
	if err == nil && (n < 0 || n > math.MaxInt32) {
		err = fault.New(fault.Precondition, "the age of messages to expire must be 0 or more seconds")
	}
	return s.reg.Options().Now().Add(-time.Duration(n) * time.Second), err
}

func (s *Server) expire(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	before, err := s.age(c)
	if err != nil {
		return nil, err
	}
	return nil, s.withSubscription(ctx, c, name, func(sub *topic.Subscription) error {
		_, err := sub.Expire(ctx, before)
		return err
	})
}

func (s *Server) expireAll(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	before, err := s.age(c)
	if err != nil {
		return nil, err
	}
	return nil, s.each(ctx, name, func(n wire.TopicName) error {
		t, err := s.reg.Get(ctx, n)
		if err != nil {
			return err
		}
		for _, sub := range t.Subscriptions() {
			if _, err := sub.Expire(ctx, before); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Server) resetToTime(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	ms, err := c.number("timestamp")
	if err != nil {
		return nil, err
	}
	return nil, s.withSubscription(ctx, c, name, func(sub *topic.Subscription) error {
		return sub.Seek(ctx, topic.SeekTarget{Time: ms, HasTime: true})
	})
}

func (s *Server) resetToPosition(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	p, excluded, err := startBody(c)
	if err != nil {
		return nil, err
	}
	if excluded && p.Entry < math.MaxInt64 {
		p.Entry++
	}
	return nil, s.withSubscription(ctx, c, name, func(sub *topic.Subscription) error {
		return sub.Seek(ctx, topic.SeekTarget{Position: p})
	})
}

func (s *Server) peek(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	n, err := c.number("position")
	if err != nil {
		return nil, err
	}
	if err := s.whole(name, "Peek messages"); err != nil {
		return nil, err
	}
	if n < 1 || n > math.MaxInt32 {
		return nil, fault.New(fault.Precondition, "Message position must be 1 or more")
	}
	var out *reply
	err = s.withSubscription(ctx, c, name, func(sub *topic.Subscription) error {
		e, err := sub.Peek(ctx, int(n))
		if err != nil {
			return err
		}
		out, err = messageReply(e.Entry, name)
		return err
	})
	return nilOnError(out, err)
}

func (s *Server) messageAt(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	ledger, err := c.number("ledger")
	if err != nil {
		return nil, err
	}
	entry, err := c.number("entry")
	if err != nil {
		return nil, err
	}
	if err := s.whole(name, "Getting a message by id"); err != nil {
		return nil, err
	}
	t, err := s.reg.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	if t.Storage() == nil {
		return nil, fault.New(fault.NotAllowed, "a non-persistent topic stores no messages")
	}
	e, err := t.ReadAt(ctx, wire.Position{Ledger: ledger, Entry: entry})
	if err != nil {
		return nil, err
	}
	return nilOnError(messageReply(e, name))
}

func (s *Server) subscriptionProperties(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	out := map[string]string{}
	err := s.withSubscription(ctx, c, name, func(sub *topic.Subscription) error {
		for k, v := range sub.Properties() {
			out[k] = v
		}
		return nil
	})
	return out, err
}
