package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
)

// The levels that a policy can be set on.
const (
	LevelBroker    = "broker" // what was changed of the daemon's configuration at run time
	LevelNamespace = "namespace"
	LevelTopic     = "topic"
)

// PolicyRow is one line of `inspect policies`.
type PolicyRow struct {
	Level   string    `json:"level" col:"LEVEL"`
	Name    string    `json:"name" col:"NAME,name"` // of the namespace or topic
	Policy  string    `json:"policy" col:"POLICY"`
	Value   any       `json:"value" col:"VALUE"`
	Changed time.Time `json:"changed" col:"CHANGED" fmt:"time"` // last change of anything on this level and name; zero: not known
}

// PoliciesOptions are for Session.Policies.
type PoliciesOptions struct {
	Names  []string // namespaces or topics, with patterns; none is all
	Policy string   // only this one
}

// Policies lists what was set on the broker, on namespaces and on topics. What
// is not listed has the broker's default.
func (s *Session) Policies(ctx context.Context, o PoliciesOptions) ([]PolicyRow, error) {
	return again(s, func() (out []PolicyRow, err error) {
		for _, k := range []struct {
			kind  storage.Kind
			level string
		}{{storage.KindSettings, LevelBroker}, {storage.KindNamespace, LevelNamespace}, {storage.KindTopicPolicies, LevelTopic}} {
			paths, err := s.spool.ResourcePaths(k.kind, "")
			if err != nil {
				return nil, s.degrade(ctx, err)
			}
			for _, path := range paths {
				if !o.takes(path) {
					continue
				}
				rows, err := s.policiesOf(k.kind, k.level, path, o.Policy)
				if err != nil {
					if err = s.degrade(ctx, err); !isDamage(err) {
						return nil, err
					}
					s.problem(damage.Problem{What: fmt.Sprintf("the policies of %s %s cannot be read: %s", k.level, path, firstLine(err))})
					continue
				}
				out = append(out, rows...)
			}
		}
		return out, nil
	})
}

// takes matches a namespace or topic; short names and patterns are completed
// as those of topics are.
func (o PoliciesOptions) takes(path string) bool {
	for _, n := range o.Names {
		if n == path || globMatches(n, path) {
			return true
		}
		if full, err := completeGlob(n); err == nil && matchTopic(full, path) {
			return true
		}
	}
	return len(o.Names) == 0
}

func (s *Session) policiesOf(kind storage.Kind, level, path, only string) (out []PolicyRow, err error) {
	values := map[string]json.RawMessage{}
	if kind == storage.KindNamespace {
		var ns storage.Namespace
		_, err = s.spool.Resource(kind, path, &ns)
		values = ns.Policies
	} else {
		_, err = s.spool.Resource(kind, path, &values)
	}
	if err != nil {
		return nil, err
	}
	var changed time.Time
	if h, err := s.spool.ResourceHistory(kind, path); err == nil && len(h) > 0 {
		changed = h[0].Changed
	}
	for _, name := range sortedKeys(values) {
		if only == "" || only == name {
			out = append(out, PolicyRow{Level: level, Name: path, Policy: name, Value: values[name], Changed: changed})
		}
	}
	return out, nil
}
