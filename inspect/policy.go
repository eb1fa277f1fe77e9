package inspect

import (
	"encoding/json"
	"fmt"
	"time"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/wire"
)

// retentionPolicy is the document that Pulsar keeps under retention_policies.
type retentionPolicy struct {
	Minutes int64 `json:"retentionTimeInMinutes"`
	MB      int64 `json:"retentionSizeInMB"`
}

func (p retentionPolicy) trim() storage.TrimPolicy {
	return storage.TrimPolicy{RetentionTime: time.Duration(p.Minutes) * time.Minute, RetentionBytes: p.MB << 20}
}

// retention is the policy that the broker would trim a topic by: its
// namespace's, or keeping nothing longer than needed. What the broker's
// configuration adds is not in the spool.
func (s *Session) retention(t *storage.TopicView) storage.TrimPolicy {
	name, err := wire.ParseTopic(t.Name)
	if err != nil {
		return storage.TrimPolicy{}
	}
	var ns storage.Namespace
	path := name.NamespaceName().String()
	found, err := s.spool.Resource(storage.KindNamespace, path, &ns)
	var p retentionPolicy
	if err == nil && found && len(ns.Policies["retention_policies"]) > 0 {
		err = json.Unmarshal(ns.Policies["retention_policies"], &p)
	}
	if err != nil {
		s.problem(damage.Problem{What: fmt.Sprintf("the retention of namespace %s cannot be read: %s", path, firstLine(err))})
		return storage.TrimPolicy{RetentionTime: -1} // nothing is called trimmable by guessing
	}
	return p.trim()
}
