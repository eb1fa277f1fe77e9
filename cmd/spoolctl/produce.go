package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/traffic"
)

// produced is the output of produce.
type produced struct {
	Topic    string  `json:"topic" col:"TOPIC,name"`
	Messages int     `json:"messages" col:"MESSAGES" fmt:"count"`
	Failed   int     `json:"failed" col:"FAILED" fmt:"count"`
	Bytes    int64   `json:"bytes" col:"BYTES" fmt:"bytes"`
	Seconds  float64 `json:"seconds" col:"TOOK" fmt:"seconds"`
	Rate     float64 `json:"msgRate" col:"MSGS/s" fmt:"rate"`
	First    *string `json:"firstMessageId" col:"FIRST"`
	Last     *string `json:"lastMessageId" col:"LAST"`
}

type produce struct {
	f           *factory
	opts        traffic.ProduceOptions
	size        int64
	file        string
	batch       bool
	compression string
}

func newProduce(f *factory) *cobra.Command {
	o := &produce{f: f}
	cmd := &cobra.Command{
		Use:   "produce TOPIC",
		Short: "Publish messages through the client protocol",
		Example: "  spoolctl produce orders --payload 'hello %d' --count 10\n" +
			"  spoolctl produce orders --size 1K --count 100000 --key user-%d\n" +
			"  spoolctl produce orders --file - < lines.txt",
		Args:              exactArgs(1),
		ValidArgsFunction: f.completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.opts.Topic = args[0]
			if o.file != "" && !cmd.Flags().Changed("count") {
				o.opts.Count = 0
			}
			return o.run(cmd.Context())
		},
	}
	fl := cmd.Flags()
	fl.IntVarP(&o.opts.Count, "count", "n", 1, "how many messages (with --file: at most; default all lines)")
	fl.Var((*sizeValue)(&o.size), "size", "size of made-up payloads, for example 1K")
	fl.StringVar(&o.opts.Payload, "payload", "", "text of every message; %d becomes its number")
	fl.StringVar(&o.file, "file", "", "publish the lines of a file; - is standard input")
	fl.StringVar(&o.opts.Key, "key", "", "key of every message; %d becomes its number")
	fl.StringToStringVar(&o.opts.Properties, "property", nil, "property of every message, key=value (repeatable)")
	fl.Float64Var(&o.opts.Rate, "rate", 0, "messages per second (0 = no limit)")
	fl.BoolVar(&o.batch, "batch", true, "let the client batch messages")
	fl.UintVar(&o.opts.BatchMessages, "batch-size", 0, "most messages in a batch (default of the client library: 1000)")
	o.compression = "none"
	fl.Var(newChoice(&o.compression, "none", "lz4", "zlib", "zstd", "snappy"), "compression", "compression of payloads")
	fl.StringVar(&o.opts.Name, "producer-name", "", "name of the producer (default: the broker chooses)")
	return changes(cmd)
}

func (o *produce) run(ctx context.Context) error {
	t, err := topic(o.opts.Topic)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if o.file != "" {
		in, closeIn, err := o.input()
		if err != nil {
			return err
		}
		defer closeIn()
		o.opts.Lines = in
	}
	o.opts.Topic, o.opts.Size, o.opts.NoBatch = t.String(), int(o.size), !o.batch
	o.opts.Compression = compressions()[o.compression]
	client, err := o.f.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	o.opts.Client = client
	res, err := traffic.Produce(ctx, o.opts)
	if err != nil && res.Sent == 0 {
		return failed("topic", t.String(), err)
	}
	parts, perr := client.TopicPartitions(t.String())
	partitioned := perr == nil && len(parts) > 0 && isPartition(parts[0])
	if perr := o.f.print(producedOf(t.String(), res, partitioned)); perr != nil {
		return perr
	}
	if err != nil && ctx.Err() == nil {
		return &format.Error{Kind: format.ErrPartial, Msg: "some messages were not confirmed", Err: err}
	}
	return ctx.Err()
}

// maxPayload bounds --size: no broker takes more than 5 MiB by default, and
// those that do are bounded by memory.
const maxPayload = 64 << 20

func (o *produce) check() error {
	sources := 0
	for _, given := range []bool{o.size > 0, o.opts.Payload != "", o.file != ""} {
		if given {
			sources++
		}
	}
	switch {
	case sources > 1:
		return format.Usagef("give one of --size, --payload and --file")
	case o.opts.Count < 0 || o.opts.Count == 0 && o.file == "":
		return format.Usagef("--count %d is not positive", o.opts.Count)
	case o.size > maxPayload:
		return format.Usagef("--size is more than %s", format.Size(maxPayload))
	case o.opts.Rate < 0:
		return format.Usagef("--rate is negative")
	}
	return nil
}

func (o *produce) input() (io.Reader, func(), error) {
	if o.file == "-" {
		return o.f.io.in, func() {}, nil
	}
	file, err := os.Open(o.file)
	if err != nil {
		return nil, nil, &format.Error{Kind: format.ErrUnavailable, Err: err, Hint: "check --file"}
	}
	return file, func() { file.Close() }, nil
}

func producedOf(topic string, r traffic.ProduceResult, partitioned bool) produced {
	p := produced{Topic: topic, Messages: r.Sent, Failed: r.Failed, Bytes: r.Bytes, Seconds: r.Took.Round(time.Microsecond).Seconds()}
	if r.Took > 0 {
		p.Rate = float64(r.Sent) / r.Took.Seconds()
	}
	if r.First != nil {
		p.First, p.Last = new(clientID(r.First, partitioned)), new(clientID(r.Last, partitioned))
	}
	return p
}

func compressions() map[string]pulsar.CompressionType {
	return map[string]pulsar.CompressionType{
		"none": pulsar.NoCompression, "lz4": pulsar.LZ4, "zlib": pulsar.ZLib, "zstd": pulsar.ZSTD, "snappy": pulsar.SNAPPY,
	}
}

// dial connects to the broker that the flags name.
func (f *factory) dial(ctx context.Context) (pulsar.Client, error) {
	c, err := traffic.Dial(ctx, traffic.DialOptions{
		URL: f.global.brokerURL, Token: f.token, Timeout: f.global.timeout, Log: f.logger(),
	})
	if err != nil && !as[*traffic.UnreachableError](err) && !errors.Is(err, context.Canceled) && format.HintOf(err) == "" {
		err = &format.Error{Kind: format.ErrUsage, Err: err, Hint: "check --broker-url"}
	}
	return c, err
}
