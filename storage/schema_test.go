package storage_test

import (
	"context"
	"fmt"
	"testing"

	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestSchemas checks that versions survive a restart, are shared by partitions, and can be read from a stopped spool.
func TestSchemas(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	s := open(t, fs)
	name, err := wire.ParseTopic("persistent://public/default/t-partition-1")
	if err != nil {
		t.Fatal(err)
	}
	subject := storage.SchemaSubject(name)
	if subject != "public/default/t" {
		t.Errorf("subject %q", subject)
	}
	topic, err := s.CreateTopic(ctx, name, storage.TopicOptions{Sink: storagetest.NewSink()})
	if err != nil {
		t.Fatal(err)
	}
	put := func(subject string, want uint64, sc record.Schema) {
		t.Helper()
		if v, err := s.PutSchema(ctx, subject, sc); err != nil || v != want {
			t.Fatalf("version %d, %v; want %d", v, err, want)
		}
	}
	put(subject, 0, record.Schema{Type: 1, Name: "a"})
	put(subject, 1, record.Schema{Deleted: true})
	put("public/default/other", 0, record.Schema{Type: 2})
	if err := topic.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}

	s = open(t, fs)
	put(subject, 2, record.Schema{Type: 4, Data: []byte("{}")})
	if err := s.DeleteSchemas(ctx, "public/default/other"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Schemas("public/default/other"); err != nil || len(got) != 0 {
		t.Errorf("after deletion: %v, %v", got, err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}

	spool, err := storage.OpenRead(storage.ReadOptions{Dir: "spool", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer spool.Close()
	view, err := spool.TopicByName(name)
	if err != nil {
		t.Fatal(err)
	}
	versions, err := view.Schemas()
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, v := range versions {
		got += fmt.Sprintf("%d:%d:%v ", v.Version, v.Type, v.Deleted)
	}
	if want := "0:1:false 1:0:true 2:4:false "; got != want {
		t.Errorf("versions %q, want %q", got, want)
	}
}
