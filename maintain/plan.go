package maintain

import (
	"fmt"
	"time"
)

// Action is one line of a plan: one thing that a run changes.
type Action struct {
	Action string `json:"action" col:"ACTION"` // an imperative: move, delete, compact
	Kind   string `json:"kind" col:"KIND"`     // cursor, topic, ledger, spool
	Name   string `json:"name" col:"NAME,name"`
	Detail string `json:"detail" col:"DETAIL"` // from what to what, and why
}

// Plan is what a run will do. A dry run makes the same one.
type Plan struct {
	Verb       string
	Spool      string
	Actions    []Action
	Checkpoint string // name below SPOOL/checkpoints that the state before will have; empty: none is kept
	Need       int64  // bytes of disk that the run takes, at most
}

func (p *Plan) add(action, kind, name, detail string, args ...any) {
	p.Actions = append(p.Actions, Action{action, kind, name, fmt.Sprintf(detail, args...)})
}

// Result is what a run did.
type Result struct {
	*Plan
	Done          bool // false: a dry run, or there was nothing to do
	Before, After int64
}

// Summary is Result without its actions, for printing below them.
type Summary struct {
	Verb       string  `json:"verb" col:"VERB"`
	Spool      string  `json:"spool" col:"SPOOL"`
	Done       bool    `json:"done" col:"DONE"`
	Actions    int     `json:"actions" col:"ACTIONS" fmt:"count"`
	Checkpoint *string `json:"checkpoint" col:"CHECKPOINT"` // what `storage undo` brings back; nil: none is kept
	Need       int64   `json:"needBytes" col:"NEEDS" fmt:"bytes"`
	Before     *int64  `json:"bytesBefore" col:"BEFORE" fmt:"bytes"` // of the database's files; nil: not done
	After      *int64  `json:"bytesAfter" col:"AFTER" fmt:"bytes"`
}

// Summary returns the result's totals.
func (r *Result) Summary() Summary {
	s := Summary{Verb: r.Verb, Spool: r.Spool, Done: r.Done, Actions: len(r.Actions), Need: r.Need}
	if r.Checkpoint != "" {
		s.Checkpoint = &r.Checkpoint
	}
	if r.Done {
		s.Before, s.After = &r.Before, &r.After
	}
	return s
}

// newPlan names the run's checkpoint: before-VERB-TIME, with a number when that second has a checkpoint already, so that
// the newest is known.
func (o *Options) newPlan(verb string) (*Plan, error) {
	p := &Plan{Verb: verb, Spool: o.Dir}
	if o.NoBackup {
		return p, nil
	}
	all, err := Checkpoints(o.Dir)
	if err != nil {
		return nil, err
	}
	now := o.Now().UTC().Truncate(time.Second)
	p.Checkpoint = checkpointPrefix + verb + "-" + now.Format(stampLayout)
	for _, c := range all { // the newest first
		if _, n := stampOf(c.Name); c.Made.Equal(now) {
			p.Checkpoint += fmt.Sprintf("-%d", max(n, 1)+1)
			break
		}
	}
	return p, nil
}

func toTime(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
