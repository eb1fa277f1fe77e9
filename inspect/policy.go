package inspect

import (
	"fmt"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/storage/policy"
	"spoolctl/wire"
)

// retention is the policy that the broker would trim a topic by, as far as the spool says.
func (s *Session) retention(t *storage.TopicView) storage.TrimPolicy {
	name, err := wire.ParseTopic(t.Name)
	if err != nil {
		return storage.TrimPolicy{}
	}
	docs, err := policy.Of(s.spool, name)
	var stay policy.Stay
	if err == nil {
		stay, err = docs.Stay()
	}
	if err != nil {
		s.problem(damage.Problem{What: fmt.Sprintf("the retention of %s cannot be read: %s", name, firstLine(err))})
		return storage.TrimPolicy{RetentionTime: -1} // nothing is called trimmable by guessing
	}
	return stay.Trim
}
