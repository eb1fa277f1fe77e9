package maintain

import (
	"encoding/json"
	"fmt"
	"time"

	"spoolctl/storage"
	"spoolctl/wire"
)

// policies are what of a topic's policies trimming asks for.
type policies struct {
	trim storage.TrimPolicy
	ttl  time.Duration // 0: messages do not expire
}

// policiesOf reads a topic's own policies, else its namespace's. What the broker's configuration adds is not in the spool.
func policiesOf(s *storage.Spool, name wire.TopicName) (p policies, err error) {
	var ns storage.Namespace
	var own map[string]json.RawMessage
	if _, err := s.Resource(storage.KindNamespace, name.NamespaceName().String(), &ns); err != nil {
		return p, err
	}
	if _, err := s.Resource(storage.KindTopicPolicies, name.Base().String(), &own); err != nil {
		return p, err
	}
	var keep struct {
		Minutes float64 `json:"retentionTimeInMinutes"`
		MB      float64 `json:"retentionSizeInMB"`
	}
	var ttl float64
	for _, doc := range []map[string]json.RawMessage{ns.Policies, own} {
		for field, into := range map[string]any{"retention_policies": &keep, "message_ttl_in_seconds": &ttl} {
			if len(doc[field]) == 0 {
				continue
			}
			if err := json.Unmarshal(doc[field], into); err != nil {
				return p, fmt.Errorf("policy %s of %s: %w", field, name, err)
			}
		}
	}
	p.trim = storage.TrimPolicy{RetentionTime: time.Duration(keep.Minutes * float64(time.Minute)), RetentionBytes: int64(keep.MB * (1 << 20))}
	p.ttl = time.Duration(ttl * float64(time.Second))
	return p, nil
}
