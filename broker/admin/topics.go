package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
	"spoolctl/storage"
	"spoolctl/wire"
)

// messageID is Pulsar's JSON for a position.
type messageID struct {
	LedgerID       int64 `json:"ledgerId"`
	EntryID        int64 `json:"entryId"`
	PartitionIndex int   `json:"partitionIndex"`
	BatchIndex     *int  `json:"batchIndex,omitempty"`
}

func idOf(p wire.Position, name wire.TopicName) messageID {
	return messageID{LedgerID: p.Ledger, EntryID: p.Entry, PartitionIndex: name.Partition()}
}

// topicRoute returns what makes a route of something that is done with a topic's name.
func topicRoute(domain string) func(pattern string, do func(ctx context.Context, c *call, name wire.TopicName) (any, error)) route {
	return func(pattern string, do func(ctx context.Context, c *call, name wire.TopicName) (any, error)) route {
		return route{pattern, func(ctx context.Context, c *call) (any, error) {
			name, err := c.topic(domain)
			if err != nil {
				return nil, err
			}
			return do(ctx, c, name)
		}}
	}
}

func (s *Server) topicRoutes(domain string) []route {
	base := "/admin/v2/" + domain + "/{tenant}/{namespace}"
	one := base + "/{topic}"
	on := topicRoute(domain)
	return []route{
		{"GET " + base, func(_ context.Context, c *call) (any, error) { return s.listTopics(c, domain) }},
		on("PUT "+one, s.createTopic),
		on("DELETE "+one, s.deleteTopic),
		on("GET "+one+"/stats", s.topicStats),
		on("GET "+one+"/internalStats", s.internalStats),
		on("GET "+one+"/internal-info", s.internalInfo),
		on("GET "+one+"/lastMessageId", s.lastMessageID),
		on("GET "+one+"/messageid/{timestamp}", s.messageIDAt),
		on("POST "+one+"/terminate", s.terminate),
		on("DELETE "+one+"/truncate", s.truncate),
		on("PUT "+one+"/unload", s.unload),
		on("PUT "+one+"/compaction", s.compact),
		on("GET "+one+"/compaction", s.compactionStatus),
		on("PUT "+one+"/offload", s.offload),
		on("GET "+one+"/offload", s.offloadStatus),
	}
}

func (s *Server) listTopics(c *call, domain string) (any, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	if _, err := s.reg.Namespace(ns); err != nil {
		return nil, err
	}
	which := topic.OnlyPersistent
	if domain == wire.NonPersistent.String() {
		which = topic.OnlyNonPersistent
	}
	return names(s.reg.Topics(ns, which)), nil
}

func (s *Server) createTopic(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	var properties map[string]string
	if err := c.body(&properties); err != nil {
		return nil, err
	}
	_, err := s.reg.Create(ctx, name, properties)
	return nil, err
}

func (s *Server) deleteTopic(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	return nil, s.reg.Delete(ctx, name, c.flag("force"))
}

func statsOptions(c *call) topic.StatsOptions {
	return topic.StatsOptions{Earliest: c.flag("getEarliestTimeInBacklog"), ExcludePublisher: c.flag("excludePublishers"), ExcludeConsumers: c.flag("excludeConsumers")}
}

func (s *Server) topicStats(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	t, err := s.reg.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	return nilOnError(t.Stats(ctx, statsOptions(c)))
}

// nilOnError keeps a nil pointer from becoming an answer.
func nilOnError[T any](v *T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (s *Server) internalStats(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	t, err := s.reg.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	return nilOnError(t.InternalStats(c.flag("metadata")))
}

// managedLedgerInfo is Pulsar's internal-info.
type managedLedgerInfo struct {
	Version            int                   `json:"version"`
	CreationDate       string                `json:"creationDate"`
	ModificationDate   string                `json:"modificationDate"`
	Ledgers            []ledgerInfo          `json:"ledgers"`
	TerminatedPosition *positionInfo         `json:"terminatedPosition,omitempty"`
	Cursors            map[string]cursorInfo `json:"cursors"`
	Properties         map[string]string     `json:"properties"`
}

type ledgerInfo struct {
	LedgerID    int64  `json:"ledgerId"`
	Entries     *int64 `json:"entries,omitempty"` // absent while the ledger is open
	Size        *int64 `json:"size,omitempty"`
	Timestamp   *int64 `json:"timestamp,omitempty"` // closed, ms since 1970
	IsOffloaded bool   `json:"isOffloaded"`
}

type positionInfo struct {
	LedgerID int64 `json:"ledgerId"`
	EntryID  int64 `json:"entryId"`
}

type rangeInfo struct {
	From positionInfo `json:"from"`
	To   positionInfo `json:"to"`
}

type cursorInfo struct {
	Version                   int              `json:"version"`
	CreationDate              string           `json:"creationDate"`
	ModificationDate          string           `json:"modificationDate"`
	CursorsLedgerID           int64            `json:"cursorsLedgerId"` // -1: the position below is the truth
	MarkDelete                positionInfo     `json:"markDelete"`
	IndividualDeletedMessages []rangeInfo      `json:"individualDeletedMessages"`
	Properties                map[string]int64 `json:"properties,omitempty"`
}

func (s *Server) internalInfo(ctx context.Context, _ *call, name wire.TopicName) (any, error) {
	t, err := s.reg.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	st := t.Storage()
	if st == nil {
		return nil, fault.New(fault.NotAllowed, "internal-info is for persistent topics only")
	}
	info := managedLedgerInfo{Version: 1, Ledgers: []ledgerInfo{}, Cursors: map[string]cursorInfo{}, Properties: st.Properties()}
	if info.Properties == nil {
		info.Properties = map[string]string{}
	}
	for i, l := range st.Ledgers() {
		if i == 0 {
			info.CreationDate = topic.TimeText(l.Created)
		}
		info.ModificationDate = topic.TimeText(l.Created)
		li := ledgerInfo{LedgerID: l.ID, IsOffloaded: l.Object != ""}
		if !l.Closed.IsZero() {
			closed := l.Closed.UnixMilli()
			li.Entries, li.Size, li.Timestamp = &l.Entries, &l.Bytes, &closed
		}
		info.Ledgers = append(info.Ledgers, li)
	}
	if at, ended := st.Terminated(); ended {
		info.TerminatedPosition = &positionInfo{at.Ledger, at.Entry}
	}
	for _, c := range st.Cursors() {
		if c.Durable() {
			info.Cursors[c.Name()] = cursorInfoOf(c)
		}
	}
	return info, nil
}

func cursorInfoOf(c *storage.Cursor) cursorInfo {
	state := c.State()
	ci := cursorInfo{
		Version: 1, CreationDate: topic.TimeText(state.Created), ModificationDate: topic.TimeText(state.LastActive), CursorsLedgerID: -1,
		MarkDelete: positionInfo{state.MarkDelete.Ledger, state.MarkDelete.Entry}, IndividualDeletedMessages: []rangeInfo{}, Properties: state.Positions,
	}
	for _, r := range state.Acks.Ranges(0) {
		ci.IndividualDeletedMessages = append(ci.IndividualDeletedMessages, rangeInfo{
			positionInfo{r.Lower.Ledger, r.Lower.Entry}, positionInfo{r.Upper.Ledger, r.Upper.Entry}})
	}
	return ci
}

func (s *Server) lastMessageID(ctx context.Context, _ *call, name wire.TopicName) (any, error) {
	t, err := s.reg.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	id, err := t.LastMessageID(ctx)
	if err != nil {
		return nil, err
	}
	out := idOf(id.Position, name)
	if id.Batch >= 0 {
		b := int(id.Batch)
		out.BatchIndex = &b
	}
	return out, nil
}

// messageIDAt answers with the first message that was published at a time, ms since 1970, or later; when there is none,
// with where the next one will be.
func (s *Server) messageIDAt(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	ms, err := c.number("timestamp")
	if err != nil {
		return nil, err
	}
	if err := s.whole(name, "Getting a message id by time"); err != nil {
		return nil, err
	}
	t, err := s.reg.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	at, err := t.Find(ctx, ms)
	return idOf(at, name), err
}

// truncate empties a topic, or each partition of one.
func (s *Server) truncate(ctx context.Context, _ *call, name wire.TopicName) (any, error) {
	return nil, s.each(ctx, name, func(n wire.TopicName) error {
		t, err := s.reg.Get(ctx, n)
		if err != nil {
			return err
		}
		return t.Truncate(ctx)
	})
}

func (s *Server) terminate(ctx context.Context, _ *call, name wire.TopicName) (any, error) {
	if _, partitioned, err := s.reg.Partitioned(name); err != nil {
		return nil, err
	} else if partitioned {
		return nil, fault.New(fault.NotAllowed, "Termination of a partitioned topic is not allowed")
	}
	t, err := s.reg.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	last, err := t.Terminate(ctx)
	if err != nil {
		return nil, err
	}
	return idOf(last, name), nil
}

func (s *Server) unload(ctx context.Context, _ *call, name wire.TopicName) (any, error) {
	return nil, s.each(ctx, name, func(n wire.TopicName) error { return s.reg.Unload(ctx, n) })
}

// each does something with a topic, or with every partition of a partitioned one.
func (s *Server) each(_ context.Context, name wire.TopicName, do func(wire.TopicName) error) error {
	p, partitioned, err := s.reg.Partitioned(name)
	if err != nil {
		return err
	}
	if !partitioned {
		return do(name)
	}
	for i := range p.Partitions {
		if err := do(name.WithPartition(i)); err != nil {
			return err
		}
	}
	return nil
}

func propertiesOf(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// countBody reads a body that is a number, bare or as a text, or {"partitions":n,"properties":{…}}.
func countBody(c *call) (n int, properties map[string]string, err error) {
	wrong := &statusError{http.StatusBadRequest, "the body must be the number of partitions"}
	var raw json.RawMessage
	if err := c.body(&raw); err != nil {
		return 0, nil, err
	}
	if json.Unmarshal(raw, &n) == nil {
		return n, nil, nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if n, err = strconv.Atoi(word); err != nil {
			return 0, nil, wrong
		}
		return n, nil, nil
	}
	var full struct {
		Partitions int               `json:"partitions"`
		Properties map[string]string `json:"properties"`
	}
	if err := json.Unmarshal(raw, &full); err != nil {
		return 0, nil, wrong
	}
	return full.Partitions, full.Properties, nil
}
