package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"

	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

const (
	schemaOne      = `{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}`
	schemaOptional = `{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int","default":0}]}`
	schemaRequired = `{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"c","type":"int"}]}`
)

type rowOne struct {
	A int `json:"a"`
}

func withSchema(s pulsar.Schema) func(*pulsar.ProducerOptions) {
	return func(o *pulsar.ProducerOptions) { o.Schema = s }
}

// refused checks that a client was told that its schema does not fit.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "IncompatibleSchema") {
		t.Errorf("%s: %v, want IncompatibleSchema", what, err)
	}
}

// TestSchemaVersions sends by two compatible schemas and reads each message by its own, over a restart.
func TestSchemaVersions(t *testing.T) {
	cfg := config(t, t.TempDir())
	d := startWith(t, cfg)
	c := d.client()
	topic := newTopic()
	// The client writes a message's schema version only when it batches.
	p := newProducer(t, c, topic, batching(1), withSchema(pulsar.NewJSONSchema(schemaOne, map[string]string{"k": "v"})))
	x := subscribe(t, c, topic, "s", pulsar.Exclusive, func(o *pulsar.ConsumerOptions) { o.Schema = pulsar.NewJSONSchema(schemaOptional, nil) })
	ctx := context.Background()
	for i, s := range []pulsar.Schema{nil, pulsar.NewJSONSchema(schemaOptional, nil), pulsar.NewJSONSchema(schemaOne, nil)} {
		if _, err := p.Send(ctx, &pulsar.ProducerMessage{Value: rowOne{i}, Schema: s}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := p.Send(ctx, &pulsar.ProducerMessage{Value: rowOne{9}, Schema: pulsar.NewJSONSchema(schemaRequired, nil)})
	if err == nil {
		t.Error("a message by an incompatible schema was taken")
	}
	for i, version := range []byte{0, 1, 0} {
		m := receive(t, x)
		var row rowOne
		if err := m.GetSchemaValue(&row); err != nil || row.A != i {
			t.Errorf("message %d: %+v, %v", i, row, err)
		}
		if v := m.SchemaVersion(); len(v) != 8 || v[7] != version {
			t.Errorf("message %d has schema version %x, want %d", i, v, version)
		}
	}
	_, err = c.CreateProducer(pulsar.ProducerOptions{Topic: topic, Schema: pulsar.NewJSONSchema(schemaRequired, nil)})
	refused(t, "incompatible producer", err)
	_, err = c.CreateProducer(pulsar.ProducerOptions{Topic: topic, Schema: pulsar.NewStringSchema(nil)})
	refused(t, "producer of another type", err)
	_, err = c.Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: "other", Schema: pulsar.NewStringSchema(nil)})
	refused(t, "consumer of another type", err)
	newProducer(t, c, topic) // bytes are taken

	c.Close()
	d.stop()
	d = startWith(t, cfg)
	name, err := wire.ParseTopic(topic)
	if err != nil {
		t.Fatal(err)
	}
	versions, err := d.Registry().SchemaVersions(name)
	if err != nil || len(versions) != 2 || versions[0].Properties["k"] != "v" {
		t.Errorf("after a restart: %+v, %v", versions, err)
	}
}

// TestSchemaOfConsumer registers a schema by the first consumer, for all partitions.
func TestSchemaOfConsumer(t *testing.T) {
	d := start(t)
	c := d.client()
	base := newTopic()
	name, err := wire.ParseTopic(base)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Registry().CreatePartitioned(context.Background(), name, 2, nil); err != nil {
		t.Fatal(err)
	}
	subscribe(t, c, base, "s", pulsar.Shared, func(o *pulsar.ConsumerOptions) { o.Schema = pulsar.NewStringSchema(nil) })
	versions, err := d.Registry().SchemaVersions(name)
	if err != nil || len(versions) != 1 {
		t.Errorf("versions %+v, %v", versions, err)
	}

	plain := newTopic()
	send(t, newProducer(t, c, plain), "m", 1)
	_, err = c.Subscribe(pulsar.ConsumerOptions{Topic: plain, SubscriptionName: "s", Schema: pulsar.NewStringSchema(nil)})
	refused(t, "consumer with a schema where messages have none", err)
}

// TestSchemaPolicies checks what a namespace may say about schemas.
func TestSchemaPolicies(t *testing.T) {
	d := start(t)
	c := d.client()
	set := func(policy, value string) {
		t.Helper()
		ns := wire.NamespaceName{Tenant: "public", Namespace: "default"}
		err := d.Registry().UpdateNamespace(context.Background(), ns, func(n *storage.Namespace) error {
			n.Policies[policy] = json.RawMessage(value)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	topic := newTopic()
	newProducer(t, c, topic, withSchema(pulsar.NewAvroSchema(schemaOne, nil)))

	set("schema_compatibility_strategy", `"ALWAYS_COMPATIBLE"`)
	newProducer(t, c, topic, withSchema(pulsar.NewStringSchema(nil)))
	set("schema_compatibility_strategy", `"UNDEFINED"`)
	set("schema_auto_update_compatibility_strategy", `"AutoUpdateDisabled"`)
	_, err := c.CreateProducer(pulsar.ProducerOptions{Topic: topic, Schema: pulsar.NewInt32Schema(nil)})
	refused(t, "ALWAYS_INCOMPATIBLE", err)

	set("is_allow_auto_update_schema", "false")
	newProducer(t, c, topic, withSchema(pulsar.NewAvroSchema(schemaOne, nil))) // is known
	_, err = c.CreateProducer(pulsar.ProducerOptions{Topic: newTopic(), Schema: pulsar.NewStringSchema(nil)})
	refused(t, "no new schemas", err)

	newProducer(t, c, topic)
	set("schema_validation_enforced", "true")
	_, err = c.CreateProducer(pulsar.ProducerOptions{Topic: topic})
	refused(t, "producer without a schema", err)
	newProducer(t, c, newTopic())
}

// TestSchemaRace registers many schemas of one topic at a time: each has one version, and no two share one.
func TestSchemaRace(t *testing.T) {
	d := start(t)
	name, err := wire.ParseTopic(newTopic())
	if err != nil {
		t.Fatal(err)
	}
	const different = 10
	var wg sync.WaitGroup
	for i := range 4 * different {
		wg.Go(func() {
			data := fmt.Appendf(nil, `{"type":"record","name":"R","fields":[{"name":"f%d","type":"int","default":0}]}`, i%different)
			if _, err := d.Registry().PutSchema(context.Background(), name, record.Schema{Type: 4, Data: data}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	versions, err := d.Registry().SchemaVersions(name)
	if err != nil || len(versions) != different || versions[different-1].Version != different-1 {
		t.Errorf("%d versions, %v: %+v", len(versions), err, versions)
	}
}

// TestPlainBytes: a producer that says that it sends plain bytes has a schema of that type, unless the topic has another.
func TestPlainBytes(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	p := newProducer(t, c, name, withSchema(pulsar.NewBytesSchema(nil)))
	x := subscribe(t, c, name, "s", pulsar.Exclusive, func(o *pulsar.ConsumerOptions) { o.Schema = pulsar.NewBytesSchema(nil) })
	if _, err := p.Send(context.Background(), &pulsar.ProducerMessage{Value: []byte("raw")}); err != nil {
		t.Fatal(err)
	}
	var got []byte
	if err := receive(t, x).GetSchemaValue(&got); err != nil || string(got) != "raw" {
		t.Errorf("%q, %v", got, err)
	}
	v, err := d.Registry().Schema(mustTopic(t, name))
	if err != nil || v.Type != 0 {
		t.Errorf("registered %+v, %v", v, err)
	}
	// Bytes say nothing that a schema could be incompatible with, and the other way round.
	newProducer(t, c, name, withSchema(pulsar.NewJSONSchema(schemaOne, nil)))
	newProducer(t, c, name, withSchema(pulsar.NewBytesSchema(nil)))
	subscribe(t, c, name, "bytes", pulsar.Exclusive, func(o *pulsar.ConsumerOptions) { o.Schema = pulsar.NewBytesSchema(nil) })
	versions, err := d.Registry().SchemaVersions(mustTopic(t, name))
	if err != nil || len(versions) != 2 {
		t.Errorf("versions %+v, %v", versions, err)
	}
}
