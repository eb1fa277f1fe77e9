package main

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"strings"
	"time"

	"spoolctl/format"
	"spoolctl/live/admin"
	"spoolctl/wire"
)

// globalOptions are the flags that every command has.
type globalOptions struct {
	adminURL   string
	brokerURL  string
	metricsURL []string
	token      string
	tokenFile  string
	timeout    time.Duration
	output     string
	json       bool
	jq         string
	columns    []string
	noHeaders  bool
	sort       string
	limit      int
	quiet      bool
	verbose    int
	yes        bool
	noInput    bool
	spool      string
}

// factory makes what commands work with, on first use. It belongs to one run
// of the program and is not safe for concurrent use.
type factory struct {
	io      *ioStreams
	environ []string // NAME=value
	now     func() time.Time
	global  globalOptions

	client *admin.Client
}

func newFactory(io *ioStreams, environ []string) *factory {
	return &factory{io: io, environ: environ, now: time.Now}
}

// admin is the client of the broker that the flags name.
func (f *factory) admin() (*admin.Client, error) {
	if f.client != nil {
		return f.client, nil
	}
	o := admin.Options{URL: f.global.adminURL, Token: f.token, Timeout: f.global.timeout, UserAgent: "spoolctl/" + buildVersion().Version}
	if f.global.verbose > 0 {
		o.Trace = f.traceHTTP
	}
	c, err := admin.New(o)
	if err != nil {
		return nil, &format.Error{Kind: format.ErrUsage, Err: err}
	}
	f.client = c
	return c, nil
}

// token reads the credential each time, as token files are rotated.
func (f *factory) token() (string, error) {
	if f.global.token != "" || f.global.tokenFile == "" {
		return strings.TrimSpace(f.global.token), nil
	}
	b, err := os.ReadFile(strings.TrimPrefix(f.global.tokenFile, "file://"))
	if err != nil {
		return "", &format.Error{Kind: format.ErrUnavailable, Msg: "token file", Err: err, Hint: "check --token-file"}
	}
	return strings.TrimSpace(string(b)), nil
}

func (f *factory) traceHTTP(x admin.Exchange) {
	status := fmt.Sprint(x.Status)
	if x.Status == 0 && x.Err != nil {
		status = x.Err.Error()
	}
	fmt.Fprintf(f.io.err, "%s %s -> %s in %s\n", x.Method, format.Clean(x.URL), format.Clean(status), format.Duration(x.Took))
	if f.global.verbose > 1 && len(x.RequestBody) > 0 {
		fmt.Fprintf(f.io.err, "  %s\n", format.Clean(string(x.RequestBody)))
	}
}

// logger writes to standard error what libraries have to say; nothing without -v.
func (f *factory) logger() *slog.Logger {
	if f.global.verbose == 0 {
		return slog.New(slog.DiscardHandler)
	}
	level := slog.LevelInfo
	if f.global.verbose > 1 {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(f.io.err, &slog.HandlerOptions{Level: level}))
}

// printer applies the output flags.
func (f *factory) printer() (*format.Printer, error) {
	g := f.global
	o := format.Options{
		Format: g.output, JQ: g.jq, Columns: g.columns, NoHeaders: g.noHeaders,
		Sort: g.sort, Limit: g.limit, Quiet: g.quiet, Now: f.now,
	}
	if g.json {
		if g.output != "" && g.output != "json" {
			return nil, format.Usagef("--json and --output %s contradict each other", g.output)
		}
		o.Format = "json"
	}
	return format.New(f.io.out, f.io.err, o)
}

// print writes one result.
func (f *factory) print(v any) error {
	p, err := f.printer()
	if err != nil {
		return err
	}
	return p.Object(v)
}

// printList writes rows.
func printList[T any](f *factory, rows []T, o format.ListOptions) error {
	p, err := f.printer()
	if err != nil {
		return err
	}
	return format.List(p, rows, o)
}

// printStream writes rows that are still being produced.
func printStream[T any](f *factory, rows iter.Seq2[T, error], o format.ListOptions) error {
	p, err := f.printer()
	if err != nil {
		return err
	}
	return format.Stream(p, rows, o)
}

// topic reads a topic name from an argument.
func topic(arg string) (wire.TopicName, error) {
	t, err := wire.ParseTopic(arg)
	if err != nil {
		return t, &format.Error{Kind: format.ErrUsage, Err: err, Hint: "topics are written t, tenant/namespace/t or persistent://tenant/namespace/t"}
	}
	return t, nil
}

// namespace reads a namespace name from an argument.
func namespace(arg string) (wire.NamespaceName, error) {
	ns, err := wire.ParseNamespace(arg)
	if err != nil {
		return ns, &format.Error{Kind: format.ErrUsage, Err: err, Hint: "namespaces are written tenant/namespace"}
	}
	return ns, nil
}

// partitioned asks the broker whether t has partitions, and how many.
func (f *factory) partitioned(ctx context.Context, t wire.TopicName) (int, error) {
	if t.Partition() >= 0 {
		return 0, nil
	}
	c, err := f.admin()
	if err != nil {
		return 0, err
	}
	meta, err := c.Partitions(ctx, t)
	return meta.Partitions, err
}
