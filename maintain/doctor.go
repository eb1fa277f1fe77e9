package maintain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"spoolctl/inspect"
	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// DoctorOptions are for Doctor. Nothing is changed. Of Options it uses Dir, Progress and Now.
type DoctorOptions struct {
	Options
	Full   bool  // read every byte; else metadata and checksums of the logs only
	Memory int64 // bytes; default 256 MiB
}

// Complaint is one thing that is wrong with a spool, or worth knowing.
type Complaint struct {
	Severity string `json:"severity" col:"SEVERITY"`
	What     string `json:"what" col:"WHAT"`
	Lost     string `json:"lost" col:"LOST"` // in words; empty: nothing
	Next     string `json:"next" col:"NEXT"` // the command to run; empty: nothing to do
}

// The severities of complaints.
const (
	SeverityNote    = "note"    // all is well
	SeverityWarning = "warning" // works, and something should be done
	SeverityError   = "error"   // data is lost, or the broker cannot work with the spool
)

// Diagnosis is the answer of Doctor.
type Diagnosis struct {
	Complaints []Complaint `json:"-"`
	Spool      string      `json:"spool" col:"SPOOL"`
	State      string      `json:"state" col:"STATE"`     // healthy, or the worst severity
	Checked    string      `json:"checked" col:"CHECKED"` // everything, metadata, or nothing
	Errors     int         `json:"errors" col:"ERRORS" fmt:"count"`
	Warnings   int         `json:"warnings" col:"WARNINGS" fmt:"count"`
	Next       *string     `json:"next" col:"NEXT"` // the first command to run; nil: none
}

// Healthy reports whether there is no error among the complaints.
func (d *Diagnosis) Healthy() bool { return d.Errors == 0 }

func (d *Diagnosis) say(severity, lost, next, what string, args ...any) {
	d.Complaints = append(d.Complaints, Complaint{severity, fmt.Sprintf(what, args...), lost, next})
}

// Doctor says what is wrong with a spool, what is lost, and what to do next, the worst first. It changes nothing. The
// error is only about not being able to look: storage.ErrNoSpool, permissions.
func Doctor(ctx context.Context, o DoctorOptions) (*Diagnosis, error) {
	o.Options = o.withDefaults()
	if o.Memory == 0 {
		o.Memory = inspect.DefaultMemory
	}
	d := &Diagnosis{Spool: o.Dir, Checked: "nothing"}
	if _, err := os.Stat(o.Dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w at %s", storage.ErrNoSpool, o.Dir)
		}
		return nil, err
	}
	goOn, err := o.surroundings(d)
	if err == nil && goOn {
		err = o.database(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	d.finish()
	return d, nil
}

// surroundings looks at what is around the database; goOn is false when there is nothing more to look at.
func (o *DoctorOptions) surroundings(d *Diagnosis) (goOn bool, err error) {
	if !exists(storeDir(o.Dir)) && !exists(filepath.Join(o.Dir, identityName)) {
		return false, fmt.Errorf("%w at %s", storage.ErrNoSpool, o.Dir)
	}
	if r, err := Interrupted(o.Dir); err != nil {
		d.say(SeverityError, "", "", "%v", err)
	} else if r != nil {
		d.say(SeverityWarning, "", o.command("recover"), "%s; it is not cleaned up", r)
	}
	var other *storage.FormatError
	switch _, err := storage.ReadIdentity(vfs.Default, o.Dir); {
	case errors.As(err, &other):
		d.say(SeverityError, "", o.command("migrate"), "%v", err)
		return false, nil
	case errors.Is(err, fs.ErrPermission):
		return false, err
	case err != nil:
		d.say(SeverityError, "the spool's identity", o.salvageCommand(), "%v", err)
	}
	if !exists(storeDir(o.Dir)) {
		d.say(SeverityError, "all data, unless it can be restored", "spoolctl storage restore BACKUP "+o.Dir+" --replace", "there is no database in the spool")
		return false, nil
	}
	if pid, held := storage.LockOwner(vfs.Default, storeDir(o.Dir)); held {
		d.say(SeverityNote, "", "spoolctl broker status --spool "+o.Dir, "process %d has the spool open: what follows is its state a moment ago", pid)
	}
	return true, nil
}

func (o *DoctorOptions) command(verb string) string {
	return "spoolctl storage " + verb + " --spool " + o.Dir
}

func (o *DoctorOptions) salvageCommand() string {
	return fmt.Sprintf("spoolctl storage salvage %s %s-salvaged", o.Dir, filepath.Clean(o.Dir))
}

// database looks into the database.
func (o *DoctorOptions) database(ctx context.Context, d *Diagnosis) (err error) {
	s, err := inspect.Open(ctx, inspect.Options{Dir: o.Dir, Live: true, Memory: o.Memory, Now: o.Now})
	var other *storage.FormatError
	switch {
	case errors.As(err, &other):
		d.say(SeverityError, "", o.command("migrate"), "%v", err)
		return nil
	case errors.Is(err, fs.ErrPermission), ctx.Err() != nil:
		return err
	case err != nil:
		d.say(SeverityError, "what cannot be read", o.salvageCommand(), "the database cannot be opened: %v", err)
		return nil
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if src := s.Source(); src.Unclean {
		unclean(d, src)
	} else {
		for _, n := range s.Notes() {
			d.say(SeverityNote, "", "", "%s", n)
		}
	}
	v, err := s.Verify(ctx, inspect.VerifyOptions{Fast: !o.Full, Progress: func(what string, done, total int64) {
		o.Progress(Progress{what + " checked", done, total})
	}})
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		d.say(SeverityError, "what cannot be read", o.salvageCommand(), "the database cannot be checked: %v", err)
		return nil
	}
	d.Checked = "metadata"
	if o.Full {
		d.Checked = "everything"
	}
	o.findings(d, v)
	return nil
}

// unclean says what a stop that was not clean leaves open. After a clean one the log has an end mark, and verify finds that
// it is missing.
func unclean(d *Diagnosis, src inspect.Source) {
	const lost = "perhaps the last writes that were not synced; nobody can tell from the spool"
	d.say(SeverityWarning, lost, "", "the spool was not stopped cleanly, or it is a copy of one in use. The broker replays its log when it starts: %d records. "+
		"A log that was cut short later looks like one that ended with the kill, so what was written last may be gone", src.ReplayedBatches)
	if src.CutShort {
		d.say(SeverityWarning, "", "", "the log ends in the middle of a write. If a kill or a power loss did that, the write was never acknowledged; "+
			"if the file lost its end later, acknowledged writes may be gone with it")
	}
}

// findings turns what verify found into complaints, one for each check.
func (o *DoctorOptions) findings(d *Diagnosis, v *inspect.Verification) {
	byCheck := map[string][]inspect.Finding{}
	var order []string
	for _, f := range v.Findings {
		if byCheck[f.Check] == nil {
			order = append(order, f.Check)
		}
		byCheck[f.Check] = append(byCheck[f.Check], f)
	}
	for _, check := range order {
		all := byCheck[check]
		what := fmt.Sprintf("%s: %s", check, describe(all[0]))
		if n := len(all) - 1; n > 0 {
			what += fmt.Sprintf(", and %d more", n)
		}
		lost, next := "what the damaged places held", o.salvageCommand()
		switch check {
		case inspect.CheckBacklog, inspect.CheckOrphans:
			lost = ""
		}
		d.say(SeverityError, lost, next, "%s (`spoolctl inspect verify --spool %s` lists all)", what, o.Dir)
	}
}

func describe(f inspect.Finding) string {
	s := f.What
	if f.File != "" {
		if f.Offset != nil {
			s = fmt.Sprintf("byte %d: %s", *f.Offset, s)
		}
		s = f.File + ": " + s
	}
	if f.Topic != "" {
		s = f.Topic + ": " + s
	}
	return s
}

// finish sorts the complaints and sums them up.
func (d *Diagnosis) finish() {
	weight := map[string]int{SeverityError: 0, SeverityWarning: 1, SeverityNote: 2}
	slices.SortStableFunc(d.Complaints, func(a, b Complaint) int { return weight[a.Severity] - weight[b.Severity] })
	d.State = "healthy"
	for i := len(d.Complaints) - 1; i >= 0; i-- {
		c := &d.Complaints[i]
		switch c.Severity {
		case SeverityError:
			d.Errors++
		case SeverityWarning:
			d.Warnings++
		}
		if c.Severity != SeverityNote {
			d.State = c.Severity
		}
		if c.Next != "" {
			d.Next = &c.Next
		}
	}
}
