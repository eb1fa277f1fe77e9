package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/storage/key"
)

// Summary is the answer of Session.Summary.
type Summary struct {
	Source
	LastWrite   time.Time `json:"lastWrite" col:"LAST_WRITE" fmt:"time"` // clean stop, or when the newest log was last changed
	Tenants     int       `json:"tenants" col:"TENANTS" fmt:"count"`
	Namespaces  int       `json:"namespaces" col:"NAMESPACES" fmt:"count"`
	Partitioned int       `json:"partitionedTopics" col:"PARTITIONED_TOPICS" fmt:"count"`
	Totals
	Oldest   time.Time      `json:"oldestPublish" col:"OLDEST_PUBLISH" fmt:"time"`
	Newest   time.Time      `json:"newestPublish" col:"NEWEST_PUBLISH" fmt:"time"`
	LogBytes int64          `json:"walBytes" col:"WAL" fmt:"bytes"` // files of the write-ahead log
	Disk     []DiskUse      `json:"disk" col:"DISK"`                // tables, by family and level
	Largest  []TopicSize    `json:"largestTopics" col:"LARGEST"`    // at most five, by bytes
	Slowest  []BacklogBrief `json:"largestBacklogs" col:"BACKLOGS"` // at most five, by messages
}

// DiskUse is what the tables of one family take on one level of the database.
type DiskUse struct {
	Family string `json:"family" col:"FAMILY"`
	Level  int    `json:"level" col:"LEVEL"`
	Tables int    `json:"tables" col:"TABLES" fmt:"count"`
	Bytes  int64  `json:"bytes" col:"BYTES" fmt:"bytes"`
}

// TopicSize is a topic with its stored payload bytes.
type TopicSize struct {
	Topic    string `json:"topic" col:"TOPIC"`
	Messages int64  `json:"messages" col:"MESSAGES" fmt:"count"`
	Bytes    int64  `json:"bytes" col:"BYTES" fmt:"bytes"`
}

// BacklogBrief is a subscription with its backlog.
type BacklogBrief struct {
	Topic        string `json:"topic" col:"TOPIC"`
	Subscription string `json:"subscription" col:"SUBSCRIPTION"`
	Messages     int64  `json:"messages" col:"MESSAGES" fmt:"count"`
	Bytes        int64  `json:"bytes" col:"BYTES" fmt:"bytes"`
}

// leaders is how many topics and backlogs a summary names.
const leaders = 5

// Summary tells what is in the spool. It reads no payload.
func (s *Session) Summary(ctx context.Context) (*Summary, error) {
	return again(s, func() (*Summary, error) {
		out := &Summary{}
		err := s.eachBrief(ctx, Selector{}, func(t *storage.TopicView) error {
			out.topic(t)
			return nil
		})
		if err == nil {
			err = s.countResources(ctx, out)
		}
		if err != nil {
			return nil, err
		}
		out.Source = s.source
		return out, s.disk(out)
	})
}

func (out *Summary) topic(t *storage.TopicView) {
	out.Totals.add(t)
	for _, l := range t.Ledgers {
		if l.FirstPublish > 0 && (out.Oldest.IsZero() || fromMillis(l.FirstPublish).Before(out.Oldest)) {
			out.Oldest = fromMillis(l.FirstPublish)
		}
		if l.LastPublish > 0 && fromMillis(l.LastPublish).After(out.Newest) {
			out.Newest = fromMillis(l.LastPublish)
		}
	}
	st := t.Stats()
	out.Largest = lead(append(out.Largest, TopicSize{t.Name, st.Messages, st.Bytes}),
		func(a, b TopicSize) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, c := range t.Cursors {
		if b := t.Backlog(c); b.Messages > 0 {
			out.Slowest = lead(append(out.Slowest, BacklogBrief{t.Name, c.Name, b.Messages, b.Bytes}),
				func(a, b BacklogBrief) int { return cmp.Compare(b.Messages, a.Messages) })
		}
	}
}

func lead[T any](list []T, order func(a, b T) int) []T {
	slices.SortStableFunc(list, order)
	return list[:min(leaders, len(list))]
}

func (s *Session) countResources(ctx context.Context, out *Summary) error {
	for kind, n := range map[storage.Kind]*int{
		storage.KindTenant: &out.Tenants, storage.KindNamespace: &out.Namespaces, storage.KindPartitioned: &out.Partitioned,
	} {
		paths, err := s.spool.ResourcePaths(kind, "")
		if err != nil {
			return s.degrade(ctx, err)
		}
		*n = len(paths)
	}
	return nil
}

// disk adds what the files take.
func (s *Session) disk(out *Summary) error {
	if err := s.listFiles(); err != nil {
		return err
	}
	type place struct {
		family string
		level  int
	}
	use := map[place]*DiskUse{}
	for _, t := range s.manifest.Live() {
		family := "unknown"
		if len(t.Smallest) > 0 {
			family = key.Family(t.Smallest[0]).String()
		}
		p := place{family, t.Level}
		if use[p] == nil {
			use[p] = &DiskUse{Family: family, Level: t.Level}
		}
		use[p].Tables++
		use[p].Bytes += int64(t.Size)
	}
	for _, u := range use {
		out.Disk = append(out.Disk, *u)
	}
	slices.SortFunc(out.Disk, func(a, b DiskUse) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Level, b.Level))
	})
	out.LastWrite = s.source.CleanStop
	for _, l := range s.files.Logs {
		out.LogBytes += max(0, l.Size)
	}
	if out.LastWrite.IsZero() && len(s.files.Logs) > 0 {
		newest := s.files.Logs[len(s.files.Logs)-1]
		info, err := s.o.FS.Stat(s.o.FS.PathJoin(s.storeDir(), newest.Name))
		if err != nil {
			return errors.Join(errors.New("the newest log is gone"), err)
		}
		out.LastWrite = info.ModTime().UTC()
	}
	return nil
}

// listFiles reads which files there are, unless opening did.
func (s *Session) listFiles() error {
	if s.manifest != nil {
		return nil
	}
	files, err := damage.ListFiles(s.o.FS, s.storeDir())
	if err != nil {
		return err
	}
	s.files, s.manifest = files, damage.ReadManifest(s.o.FS, s.storeDir(), storage.StoreDir)
	return nil
}
