package policy

import (
	"encoding/json"
	"fmt"
	"time"

	"spoolctl/storage"
	"spoolctl/wire"
)

// Fields of policy documents, by Pulsar's names of namespace policies; topics have theirs under the same names.
const (
	Retention = "retention_policies"
	TTL       = "message_ttl_in_seconds"
)

// RetentionRule is the JSON of the policy Retention: what is kept although nobody needs it. Negative means without limit.
type RetentionRule struct {
	Minutes float64 `json:"retentionTimeInMinutes"`
	MB      float64 `json:"retentionSizeInMB"` // of 1 048 576 bytes
}

// Documents are what a topic's policies come from, by rising weight; each by field. Nil documents say nothing.
type Documents []map[string]json.RawMessage

// Resources reads documents of a spool; *storage.Store and *storage.Spool do.
type Resources interface {
	Resource(kind storage.Kind, path string, into any) (found bool, err error)
}

// Path is where a topic's own policies are stored: partitions share those of their topic.
func Path(name wire.TopicName) string { return name.Base().String() }

// Of gives a topic's documents in a spool: its namespace's, and its own. What the broker's configuration says is not in the
// spool.
func Of(r Resources, name wire.TopicName) (Documents, error) {
	var ns storage.Namespace
	if _, err := r.Resource(storage.KindNamespace, name.NamespaceName().String(), &ns); err != nil {
		return nil, err
	}
	var own map[string]json.RawMessage
	if _, err := r.Resource(storage.KindTopicPolicies, Path(name), &own); err != nil {
		return nil, err
	}
	return Documents{ns.Policies, own}, nil
}

// Read puts a policy into into: the value of the heaviest document that has one, while the keys of objects are taken singly.
// It reports whether any has.
func (d Documents) Read(field string, into any) (found bool, err error) {
	for _, doc := range d {
		raw, ok := doc[field]
		if !ok || string(raw) == "null" {
			continue
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return found, fmt.Errorf("policy %s cannot be read: %w", field, err)
		}
		found = true
	}
	return found, nil
}

// Stay says how long messages stay.
type Stay struct {
	TTL  time.Duration // after which messages count as acknowledged; 0 = never
	Trim storage.TrimPolicy
}

// Stay reads how long messages stay; by default until they are acknowledged.
func (d Documents) Stay() (Stay, error) {
	var keep RetentionRule
	var ttl float64
	if _, err := d.Read(Retention, &keep); err != nil {
		return Stay{}, err
	}
	if _, err := d.Read(TTL, &ttl); err != nil {
		return Stay{}, err
	}
	return Stay{
		TTL:  Span(ttl, time.Second),
		Trim: storage.TrimPolicy{RetentionTime: Span(keep.Minutes, time.Minute), RetentionBytes: int64(keep.MB * (1 << 20))},
	}, nil
}

// Span is a duration of n units; a negative one stays negative, one beyond what a duration can hold is the longest.
func Span(n float64, unit time.Duration) time.Duration {
	const longest = time.Duration(1<<63 - 1)
	switch d := n * float64(unit); {
	case d < 0:
		return -1
	case d >= float64(longest):
		return longest
	default:
		return time.Duration(d)
	}
}
