package topic

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/storage/policy"
)

// What happens to a topic whose backlog is beyond its quota; Pulsar's names.
const (
	QuotaHold      = "producer_request_hold"     // producers are sent away; their clients try again
	QuotaException = "producer_exception"        // producers are sent away with an error
	QuotaEviction  = "consumer_backlog_eviction" // the oldest messages count as acknowledged
)

// The kinds of quotas.
const (
	quotaStorage = "destination_storage" // bytes of the largest backlog
	quotaAge     = "message_age"         // of the oldest message of a backlog
)

// evictTo is the part of a quota to which eviction brings a backlog, so that the next message does not cause the next one.
const evictTo = 0.9

// backlogQuota is Pulsar's JSON. Limits of 0 or less are none.
type backlogQuota struct {
	Limit     int64   `json:"limit"`     // the former name of LimitSize
	LimitSize int64   `json:"limitSize"` // bytes
	LimitTime float64 `json:"limitTime"` // seconds
	Policy    string  `json:"policy"`
}

// quota is one limit of a topic.
type quota struct {
	size   int64         // bytes of backlog; 0 = it is about age
	age    time.Duration // of the oldest message
	policy string
}

// quotasOf lists the quotas that limit anything.
func quotasOf(m map[string]backlogQuota) (out []quota) {
	s, a := m[quotaStorage], m[quotaAge]
	if s.LimitSize <= 0 {
		s.LimitSize = s.Limit
	}
	if s.LimitSize > 0 {
		out = append(out, quota{size: s.LimitSize, policy: s.Policy})
	}
	if a.LimitTime > 0 {
		out = append(out, quota{age: policy.Span(a.LimitTime, time.Second), policy: a.Policy})
	}
	return out
}

// ParseQuota reads a quota of a kind in any of the forms that clients send and gives its one form.
func ParseQuota(raw json.RawMessage, kind string) (json.RawMessage, error) {
	var in struct {
		Limit, LimitSize, LimitTime json.RawMessage
		Policy                      string
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "a backlog quota is an object with limitSize, limitTime and policy")
	}
	var q backlogQuota
	var limits [3]int64
	for i, v := range []json.RawMessage{in.LimitSize, in.Limit, in.LimitTime} {
		if len(v) == 0 || string(v) == "null" {
			continue
		}
		n, err := strconv.ParseInt(string(bytes.Trim(v, `"`)), 10, 64)
		if err != nil {
			return nil, fault.New(fault.Invalid, "the limits of a backlog quota are whole numbers, not %s", v)
		}
		limits[i] = n
	}
	q.LimitSize, q.LimitTime, q.Policy = limits[0], float64(limits[2]), in.Policy
	if q.LimitSize <= 0 && limits[1] != 0 {
		q.LimitSize = limits[1]
	}
	q.Limit = q.LimitSize
	switch kind {
	case quotaStorage, quotaAge:
	default:
		return nil, fault.New(fault.Invalid, "backlogQuotaType must be %s or %s, not %q", quotaStorage, quotaAge, kind)
	}
	switch q.Policy {
	case QuotaHold, QuotaException, QuotaEviction:
	default:
		return nil, fault.New(fault.Invalid, "the policy of a backlog quota must be %s, %s or %s, not %q", QuotaHold, QuotaException, QuotaEviction, q.Policy)
	}
	return json.Marshal(q)
}

// QuotaSize is how many bytes of backlog the topic may have; false when there is no limit.
func (p *Policies) QuotaSize() (int64, bool) {
	for _, q := range p.quotas {
		if q.size > 0 {
			return q.size, true
		}
	}
	return 0, false
}

// QuotaAge is how old the oldest message of a backlog may be; false when there is no limit.
func (p *Policies) QuotaAge() (time.Duration, bool) {
	for _, q := range p.quotas {
		if q.age > 0 {
			return q.age, true
		}
	}
	return 0, false
}

// exceeds reports whether a subscription's backlog is beyond the quota at a time.
func (q quota) exceeds(c *storage.Cursor, now time.Time) (bool, error) {
	if q.size > 0 {
		return c.Backlog().Bytes >= q.size, nil
	}
	h, _, some, err := c.OldestUnacked()
	return some && now.Sub(time.UnixMilli(h.PublishTime)) > q.age, err
}

// overQuota lists the durable subscriptions whose backlog is beyond a quota.
func (t *Topic) overQuota(q quota) (out []*Subscription, err error) {
	now := t.r.opt.Now()
	for _, s := range t.Subscriptions() {
		if !s.durable {
			continue
		}
		over, err := q.exceeds(s.cursor, now)
		if err != nil {
			return out, storeFault(err, "looking at the backlog of subscription %s", s.name)
		}
		if over {
			out = append(out, s)
		}
	}
	return out, nil
}

// checkQuota refuses producers, with QuotaHeld or QuotaExceeded, while a backlog is beyond a quota that keeps them away.
func (t *Topic) checkQuota() error {
	for _, q := range t.Policies().quotas {
		if q.policy == QuotaEviction {
			continue
		}
		over, err := t.overQuota(q)
		if err != nil {
			return err
		}
		if len(over) == 0 {
			continue
		}
		kind := fault.QuotaHeld
		if q.policy == QuotaException {
			kind = fault.QuotaExceeded
		}
		return fault.New(kind, "Cannot create producer on topic with backlog quota exceeded: subscription %s of %s must be consumed or cleared first", over[0].name, t.name)
	}
	return nil
}

// CheckQuotas applies the backlog quotas of all loaded topics.
func (r *Registry) CheckQuotas(ctx context.Context) {
	for _, t := range r.Loaded() {
		if t.store == nil || ctx.Err() != nil {
			continue
		}
		if err := t.applyQuotas(ctx); err != nil {
			r.opt.Logger.Warn("a backlog quota cannot be applied", "topic", t.name.String(), "error", err)
		}
	}
}

func (t *Topic) applyQuotas(ctx context.Context) error {
	for _, q := range t.Policies().quotas {
		over, err := t.overQuota(q)
		if err != nil {
			return err
		}
		for _, s := range over {
			if q.policy == QuotaEviction {
				err = s.evict(ctx, q)
			} else {
				err = t.sendAway(ctx, s, q.policy)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sendAway disconnects the producers; coming back they are refused for as long as the backlog is too large.
func (t *Topic) sendAway(ctx context.Context, s *Subscription, policy string) error {
	all := t.attached()
	if len(all) > 0 {
		t.r.opt.Logger.Warn("producers are sent away: a backlog is beyond its quota; consume or clear it", "topic", t.name.String(),
			"subscription", s.name, "backlogBytes", s.cursor.Backlog().Bytes, "policy", policy)
	}
	for _, p := range all {
		if err := p.retire(ctx); err != nil {
			return err
		}
	}
	return nil
}

// evict acknowledges the oldest messages of a backlog until it is within the quota.
func (s *Subscription) evict(ctx context.Context, q quota) error {
	if q.age > 0 {
		_, err := s.Expire(ctx, s.t.r.opt.Now().Add(-q.age))
		return err
	}
	target := int64(float64(q.size) * evictTo)
	var evicted int64
	for range 64 { // sizes of messages differ: each step takes the share of what is too much
		b := s.cursor.Backlog()
		if b.Bytes <= target || b.Messages == 0 {
			break
		}
		n, err := s.Skip(ctx, max(1, int64(float64(b.Messages)*float64(b.Bytes-target)/float64(b.Bytes))))
		if err != nil {
			return err
		}
		evicted += n
	}
	s.t.r.opt.Logger.Warn("messages were evicted: the backlog was beyond its quota", "topic", s.t.name.String(), "subscription", s.name, "messages", evicted)
	return nil
}
