package broker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"

	"spoolctl/broker"
	"spoolctl/broker/topic"
	"spoolctl/storage"
	"spoolctl/storage/storagetest"
)

// memBucket is an object store in memory, as a broker opens one.
type memBucket struct {
	*storagetest.Bucket
	down   error
	closed bool
}

func (b *memBucket) open(_ context.Context, url string) (broker.Bucket, error) {
	if url != "mem://" {
		return nil, fmt.Errorf("no driver for %q", url)
	}
	return b, nil
}

func (b *memBucket) Check(context.Context) error { return b.down }

func (b *memBucket) Close() error {
	b.closed = true
	return nil
}

// TestOffload: ledgers go to the object store when they are asked for or a policy says so, are shown as offloaded, and are
// read like others.
func TestOffload(t *testing.T) {
	b := &memBucket{Bucket: storagetest.NewBucket(nil)}
	cfg := config(t, t.TempDir())
	cfg.Ledger.MaxEntries = 10
	cfg.RetentionTime, cfg.RetentionSize = -1, -1
	cfg.OffloadBucket, cfg.OpenBucket = "mem://", b.open
	d := startWith(t, cfg)
	c := d.client()
	name := newTopic()
	send(t, newProducer(t, c, name), "m", 35)
	ctx := context.Background()
	tp, err := d.Registry().Get(ctx, mustTopic(t, name))
	if err != nil {
		t.Fatal(err)
	}
	ledgers := tp.Storage().Ledgers()
	status := func() string { return d.call(get, ofTopic(name)+"offload", "", 200) }
	words := func(s string, ledger int64) string {
		return fmt.Sprintf(`{"status":%q,"lastError":"","firstUnoffloadedMessage":{"ledgerId":%d,"entryId":0,"partitionIndex":-1}}`, s, ledger)
	}
	if got := status(); got != words("NOT_RUN", ledgers[0].ID) {
		t.Errorf("before: %s", got)
	}
	for _, body := range []string{"", "null", `"latest"`, `"earliest"`, `{"ledgerId":1}`} {
		d.call(put, ofTopic(name)+"offload", body, 400)
	}
	third := fmt.Sprintf(`{"ledgerId":%d,"entryId":0,"partitionIndex":-1}`, ledgers[2].ID)
	d.call(put, ofTopic(name)+"offload", third, 204)
	d.awaitJob(ofTopic(name) + "offload")
	if got := status(); got != words("SUCCESS", ledgers[2].ID) {
		t.Errorf("after: %s", got)
	}
	d.checkOffloaded(name, ledgers, 2)

	if n := tp.Policies().Offload; n.Threshold != -1 || n.DeletionLag.Hours() != 4 {
		t.Errorf("without policies: %+v", n)
	}
	d.call(put, ofNamespace+"offloadThreshold", "0", 204)
	d.call(put, ofNamespace+"offloadDeletionLagMs", "3600000", 204)
	eventually(t, "the third ledger", func() bool { return tp.Storage().OffloadStatus().LastLedger == ledgers[2].ID })
	d.checkOffloaded(name, ledgers, 3)
	d.call(post, ofTopic(name)+"offloadPolicies", `{"managedLedgerOffloadDriver":"S3","managedLedgerOffloadThresholdInBytes":-1,"managedLedgerOffloadDeletionLagInMillis":0}`, 204)
	if n := tp.Policies().Offload; n.Threshold != -1 || n.DeletionLag != 0 {
		t.Errorf("a topic's own policies: %+v", n)
	}
	eventually(t, "the end of the local copies", func() bool {
		gone := 0
		for _, l := range tp.Storage().Ledgers() {
			if l.LocalDeleted {
				gone++
			}
		}
		return gone == 3
	})
	expect(t, subscribe(t, c, name, "sub", pulsar.Exclusive), "m", 0, 35)
	d.call(post, ofTopic(name)+"offloadPolicies", `{"managedLedgerOffloadThresholdInBytes":"much"}`, 400)
	c.Close()
	d.stop()
	if !b.closed {
		t.Error("the object store was not closed")
	}

	cfg.OffloadBucket = ""
	d = startWith(t, cfg)
	if got := d.call(put, ofTopic(name)+"offload", third, 412); !strings.Contains(got, "configure offload-bucket") {
		t.Errorf("without an object store: %s", got)
	}
}

// checkOffloaded checks that the first n ledgers are shown as offloaded, everywhere.
func (d *daemon) checkOffloaded(name string, ledgers []storage.LedgerInfo, n int) {
	t := d.t
	t.Helper()
	var bytes int64
	for _, l := range ledgers[:n] {
		bytes += l.Bytes
	}
	var st topic.TopicStats
	d.decode(ofTopic(name)+"stats", &st)
	if st.OffloadedStorageSize == nil || *st.OffloadedStorageSize != bytes || st.LastOffloadLedgerID == nil || *st.LastOffloadLedgerID != ledgers[n-1].ID ||
		st.LastOffloadSuccessTimeStamp == 0 || st.LastOffloadFailureTimeStamp != 0 {
		t.Errorf("statistics: %+v", st)
	}
	var in topic.ManagedLedgerInternalStats
	d.decode(ofTopic(name)+"internalStats", &in)
	var info struct {
		Ledgers []struct{ IsOffloaded bool }
	}
	d.decode(ofTopic(name)+"internal-info", &info)
	for i := range ledgers {
		if in.Ledgers[i].Offloaded != (i < n) || info.Ledgers[i].IsOffloaded != (i < n) {
			t.Errorf("ledger %d: %+v, %+v", i, in.Ledgers[i], info.Ledgers[i])
		}
	}
	if want := fmt.Sprintf("pulsar_storage_offloaded_size{cluster=\"standalone\",namespace=\"public/default\",topic=%q} %d\n", name, bytes); !strings.Contains(d.call(get, "/metrics", "", 200), want) {
		t.Errorf("no metric %s", want)
	}
}

// TestBucketAtStart: an object store that cannot be used is found at the start, before the spool is touched.
func TestBucketAtStart(t *testing.T) {
	down := errors.New("it is down")
	for name, x := range map[string]struct {
		url    string
		open   func(context.Context, string) (broker.Bucket, error)
		want   string
		config bool // the configuration is wrong
	}{
		"wrong URL":   {"memory://", (&memBucket{}).open, `offload-bucket: no driver for "memory://"`, true},
		"none linked": {"mem://", nil, "offload-bucket: this program has no object stores", true},
		"unreachable": {"mem://", (&memBucket{down: down}).open, "does not answer as it should: it is down; check its URL", false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, filepath.Join(t.TempDir(), "spool"))
			cfg.OffloadBucket, cfg.OpenBucket = x.url, x.open
			_, err := broker.Start(context.Background(), cfg)
			var wrong *broker.ConfigError
			if err == nil || !strings.Contains(err.Error(), x.want) || errors.As(err, &wrong) != x.config {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(cfg.Spool); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the spool was touched: %v", err)
			}
		})
	}
}
