package inspect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"spoolctl/inspect"
	"spoolctl/wire"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestVerbs runs the verbs on the sample spool and compares one JSON line per
// row with testdata/verbs. Run with -rewrite to take over what has changed.
func TestVerbs(t *testing.T) {
	fs := vfs.NewMem()
	m := makeSpool(t, fs, "spool")
	sample(m)
	m.stop()
	s := open(t, inspect.Options{Dir: "spool", FS: fs})
	datadriven.RunTest(t, "testdata/verbs", func(t *testing.T, d *datadriven.TestData) string {
		v := &verbTest{T: t, d: d, s: s}
		if err := v.run(context.Background()); err != nil {
			fmt.Fprintf(&v.out, "error: %v\n", err)
		}
		return v.out.String()
	})
}

// verbTest is one command of the golden file.
type verbTest struct {
	*testing.T
	d   *datadriven.TestData
	s   *inspect.Session
	out strings.Builder
}

func (v *verbTest) arg(name string) (val string) {
	if v.d.HasArg(name) {
		v.d.ScanArgs(v.T, name, &val)
	}
	return val
}

func (v *verbTest) selector() (sel inspect.Selector) {
	if t := v.arg("topic"); t != "" {
		sel.Globs = []string{t}
	}
	if re := v.arg("regex"); re != "" {
		sel.Regex = regexp.MustCompile(re)
	}
	return sel
}

func (v *verbTest) bounds() (b inspect.Bounds, err error) {
	for name, to := range map[string]**wire.Position{"from": &b.From, "to": &b.To} {
		if text := v.arg(name); text != "" {
			p, err := wire.ParsePosition(text)
			if err != nil {
				return b, err
			}
			*to = &p
		}
	}
	var since, until int
	if v.d.HasArg("since") {
		v.d.ScanArgs(v.T, "since", &since)
		b.Since = fromMs(publishMs(since))
	}
	if v.d.HasArg("until") {
		v.d.ScanArgs(v.T, "until", &until)
		b.Until = fromMs(publishMs(until))
	}
	return b, nil
}

func (v *verbTest) line(row any) {
	b, err := json.Marshal(row)
	if err != nil {
		v.Fatal(err)
	}
	fmt.Fprintf(&v.out, "%s\n", b)
}

// rows prints a list without totals.
func (v *verbTest) rows(list any, err error) error {
	r := reflect.ValueOf(list)
	for i := range r.Len() {
		v.line(r.Index(i).Interface())
	}
	fmt.Fprintf(&v.out, "%d rows\n", r.Len())
	return err
}

func lines[T any](v *verbTest, rows []T, totals any) {
	for _, r := range rows {
		v.line(r)
	}
	v.line(totals)
}

func stream[T any](v *verbTest, rows iter.Seq2[T, error], show func(T) any) error {
	for r, err := range rows {
		if err != nil {
			return err
		}
		v.line(show(r))
	}
	return nil
}

func (v *verbTest) run(ctx context.Context) error {
	switch v.d.Cmd {
	case "summary":
		sum, err := v.s.Summary(ctx)
		if err != nil {
			return err
		}
		sum.UUID, sum.LogBytes, sum.ReplayedBatches, sum.ReplayedKeys = "", 0, 0, 0 // depend on how the batches fell
		for i := range sum.Disk {
			sum.Disk[i].Bytes = 0 // likewise
		}
		v.out.WriteString(dump(sum) + "\n")
	case "namespaces":
		list, err := v.s.Namespaces(ctx)
		if err != nil {
			return err
		}
		lines(v, list, nil)
	case "topics":
		list, err := v.s.Topics(ctx, inspect.TopicsOptions{Selector: v.selector(), Producers: v.d.HasArg("producers")})
		if err != nil {
			return err
		}
		lines(v, list.Topics, list.Totals)
	case "ledgers":
		list, err := v.s.Ledgers(ctx, v.selector())
		if err != nil {
			return err
		}
		lines(v, list.Ledgers, list.Totals)
	case "cursors":
		list, err := v.s.Cursors(ctx, v.selector())
		if err != nil {
			return err
		}
		lines(v, list.Cursors, list.Totals)
	case "backlog":
		list, err := v.s.Backlog(ctx, inspect.BacklogOptions{Selector: v.selector(), Subscription: v.arg("sub"), Explain: v.d.HasArg("explain")})
		if err != nil {
			return err
		}
		lines(v, list.Backlogs, list.Totals)
	case "ranges":
		r, err := v.s.Ranges(ctx, inspect.RangesOptions{Topic: v.arg("topic"), Subscription: v.arg("sub"), By: v.arg("by")})
		if err != nil {
			return err
		}
		if err := stream(v, r.Rows, func(r inspect.Range) any { return r }); err != nil {
			return err
		}
		v.line(r)
		for _, l := range r.Ledgers {
			fmt.Fprintf(&v.out, "%d: acked %v partial %v\n", l.Ledger, l.Runs, l.Partials)
		}
	case "entries":
		b, err := v.bounds()
		if err != nil {
			return err
		}
		list, err := v.s.Entries(ctx, inspect.EntriesOptions{Selector: v.selector(), Bounds: b})
		if err != nil {
			return err
		}
		fmt.Fprintf(&v.out, "total %d\n", list.Total)
		return stream(v, list.Rows, func(e inspect.Entry) any { return e })
	case "messages":
		return v.messages(ctx)
	case "message":
		id, err := wire.ParseMessageID(v.arg("id"))
		if err != nil {
			return err
		}
		m, err := v.s.Message(ctx, id)
		if err != nil {
			return err
		}
		v.out.WriteString(dump(m) + "\n")
	case "keys":
		rows, err := v.s.Keys(ctx, inspect.KeysOptions{Prefix: v.arg("prefix"), Reverse: v.d.HasArg("reverse")})
		if err != nil {
			return err
		}
		return stream(v, rows, func(k inspect.Key) any { return k })
	case "producers":
		b, err := v.bounds()
		if err != nil {
			return err
		}
		list, err := v.s.Producers(ctx, inspect.ProducersOptions{Selector: v.selector(), Bounds: b})
		if err != nil {
			return err
		}
		lines(v, list.Producers, list.Totals)
	case "schemas":
		rows, err := v.s.Schemas(ctx, v.selector())
		return v.rows(rows, err)
	case "policies":
		o := inspect.PoliciesOptions{Policy: v.arg("policy")}
		if n := v.arg("name"); n != "" {
			o.Names = []string{n}
		}
		rows, err := v.s.Policies(ctx, o)
		for i := range rows {
			rows[i].Changed = time.Time{} // history counts with the clock
		}
		return v.rows(rows, err)
	case "delayed":
		list, err := v.s.Delayed(ctx, inspect.DelayedOptions{Selector: v.selector(), Subscription: v.arg("sub"), Past: v.d.HasArg("past")})
		if err != nil {
			return err
		}
		if err := stream(v, list.Rows, func(d inspect.Delayed) any { return d }); err != nil {
			return err
		}
		v.line(list.Totals)
	case "dedup":
		rows, err := v.s.Dedups(ctx, v.selector())
		return v.rows(rows, err)
	case "transactions":
		rows, err := v.s.Transactions(ctx)
		return v.rows(rows, err)
	case "verify":
		got, err := v.s.Verify(ctx, inspect.VerifyOptions{Fast: v.d.HasArg("fast")})
		if err != nil {
			return err
		}
		got.Chunks = 0 // depends on how the batches fell
		lines(v, got.Findings, got)
	default:
		v.Fatalf("unknown verb %s", v.d.Cmd)
	}
	return nil
}

// messages prints id, key, properties and payload of each message.
func (v *verbTest) messages(ctx context.Context) error {
	b, err := v.bounds()
	if err != nil {
		return err
	}
	o := inspect.MessagesOptions{Selector: v.selector(), Bounds: b, Pending: v.arg("pending")}
	o.Key, o.Producer = v.arg("key"), v.arg("producer")
	if re := v.arg("grep"); re != "" {
		o.Grep = regexp.MustCompile(re)
	}
	if p := v.arg("property"); p != "" {
		k, val, _ := strings.Cut(p, ":")
		o.Properties = map[string]string{k: val}
	}
	list, err := v.s.Messages(ctx, o)
	if err != nil {
		return err
	}
	form := v.arg("payload")
	err = stream(v, list.Rows, func(m inspect.Message) any {
		if form == "full" {
			return m
		}
		if form == "" {
			form = "text"
		}
		var d inspect.DecodedMessage
		if form == inspect.FormSchema {
			d, err = v.s.DecodedBySchema(m)
		} else {
			d, err = m.Decoded(form)
		}
		if err != nil {
			v.Fatal(err)
		}
		key := ""
		if d.Key != nil {
			key = *d.Key
		}
		out := []any{d.ID, key, d.Properties, d.Form, d.Payload}
		if d.Note != nil {
			out = append(out, *d.Note)
		}
		return out
	})
	fmt.Fprintf(&v.out, "total %d\n", list.Total())
	return err
}
