package conn

import (
	"context"
	"net"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"spoolctl/broker/auth"
	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// maxPattern is the longest topic pattern that is applied here, in bytes; the client
// applies longer ones itself.
const maxPattern = 50

// lookup works on LOOKUP: this broker has every topic.
func (c *Conn) lookup(m *pb.CommandLookupTopic) {
	request := m.GetRequestId()
	name, err := wire.ParseTopic(m.GetTopic())
	if err == nil {
		err = c.authorizeLookup(c.ctx, name)
	}
	if err == nil && m.GetAdvertisedListenerName() != "" {
		err = fault.New(fault.Precondition, "no advertised listener is named %q", printable(m.GetAdvertisedListenerName()))
	}
	r := &pb.CommandLookupTopicResponse{RequestId: &request}
	if err != nil {
		code, words := lookupError(err)
		r.Response = pb.CommandLookupTopicResponse_Failed.Enum()
		r.Error, r.Message = enum(code), text(words)
	} else {
		r.Response = pb.CommandLookupTopicResponse_Connect.Enum()
		r.BrokerServiceUrl = text(c.serviceURL())
		if tls := c.s.opt.AdvertisedTLS; tls != "" {
			r.BrokerServiceUrlTls = text("pulsar+ssl://" + tls)
		}
		r.Authoritative, r.ProxyThroughServiceUrl = proto.Bool(true), proto.Bool(false)
	}
	c.out.command(&pb.BaseCommand{Type: pb.BaseCommand_LOOKUP_RESPONSE.Enum(), LookupTopicResponse: r})
}

// serviceURL is where the client finds this broker.
func (c *Conn) serviceURL() string {
	host, port, err := net.SplitHostPort(c.nc.LocalAddr().String())
	if err != nil {
		host, port = "localhost", "6650"
	}
	if c.s.opt.AdvertisedHost != "" {
		host = c.s.opt.AdvertisedHost
	}
	if c.s.opt.AdvertisedPort != 0 {
		port = strconv.Itoa(c.s.opt.AdvertisedPort)
	}
	return "pulsar://" + net.JoinHostPort(host, port)
}

func (c *Conn) authorizeLookup(ctx context.Context, name wire.TopicName) error {
	err := c.s.opt.Authorizer.Authorize(ctx, c.identity, auth.Lookup, name.String(), "")
	return fault.Wrap(fault.Unauthorized, err, "not allowed to look up %s", name)
}

// lookupError gives the code for a failed lookup. Clients drop the connection when they
// read ServiceNotReady in one, so it stands only for what passes.
func lookupError(err error) (pb.ServerError, string) {
	code, words := serverError(err)
	if code == pb.ServerError_UnknownError || code == pb.ServerError_NotAllowedError {
		code = pb.ServerError_MetadataError
	}
	return code, words
}

// partitionedMetadata works on PARTITIONED_METADATA.
func (c *Conn) partitionedMetadata(m *pb.CommandPartitionedTopicMetadata) {
	request := m.GetRequestId()
	c.task(func(ctx context.Context) {
		n, err := c.partitionCount(ctx, m)
		r := &pb.CommandPartitionedTopicMetadataResponse{RequestId: &request}
		if err != nil {
			code, words := lookupError(err)
			if code == pb.ServerError_TopicNotFound {
				words = ""
			}
			r.Response = pb.CommandPartitionedTopicMetadataResponse_Failed.Enum()
			r.Error, r.Message = enum(code), text(words)
		} else {
			r.Response = pb.CommandPartitionedTopicMetadataResponse_Success.Enum()
			r.Partitions = proto.Uint32(uint32(n))
		}
		c.out.command(&pb.BaseCommand{Type: pb.BaseCommand_PARTITIONED_METADATA_RESPONSE.Enum(), PartitionMetadataResponse: r})
	})
}

func (c *Conn) partitionCount(ctx context.Context, m *pb.CommandPartitionedTopicMetadata) (int, error) {
	name, err := wire.ParseTopic(m.GetTopic())
	if err != nil {
		return 0, err
	}
	if err := c.authorizeLookup(ctx, name); err != nil {
		return 0, err
	}
	return c.s.opt.Registry.PartitionCount(ctx, name, m.GetMetadataAutoCreationEnabled())
}

// topicsOfNamespace works on GET_TOPICS_OF_NAMESPACE. A namespace that does not exist
// has no topics.
func (c *Conn) topicsOfNamespace(m *pb.CommandGetTopicsOfNamespace) {
	request := m.GetRequestId()
	ns, err := wire.ParseNamespace(m.GetNamespace())
	if err != nil {
		c.refuse(request, err)
		return
	}
	which := topic.OnlyPersistent
	switch m.GetMode() {
	case pb.CommandGetTopicsOfNamespace_NON_PERSISTENT:
		which = topic.OnlyNonPersistent
	case pb.CommandGetTopicsOfNamespace_ALL:
		which = topic.All
	}
	match, filtered := topicFilter(m.GetTopicsPattern())
	var names []string
	for _, name := range c.s.opt.Registry.Topics(ns, which) {
		if !strings.HasPrefix(name.Local, "__") && match(name) {
			names = append(names, name.String())
		}
	}
	hash := wire.TopicsHash(names)
	changed := m.TopicsHash == nil || m.GetTopicsHash() != hash
	if !changed {
		names = nil
	}
	c.out.command(&pb.BaseCommand{
		Type: pb.BaseCommand_GET_TOPICS_OF_NAMESPACE_RESPONSE.Enum(),
		GetTopicsOfNamespaceResponse: &pb.CommandGetTopicsOfNamespaceResponse{
			RequestId: &request, Topics: names, Filtered: &filtered, TopicsHash: &hash, Changed: &changed,
		},
	})
}

// topicFilter makes the predicate of a client's pattern, which matches a whole name
// without its domain; false when the client has to filter by itself.
func topicFilter(pattern string) (func(wire.TopicName) bool, bool) {
	all := func(wire.TopicName) bool { return true }
	if pattern == "" || len(pattern) > maxPattern {
		return all, false
	}
	if _, rest, ok := strings.Cut(pattern, "://"); ok {
		pattern = rest
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return all, false // a pattern of Java's that Go does not have
	}
	return func(name wire.TopicName) bool {
		_, full, _ := strings.Cut(name.String(), "://")
		_, base, _ := strings.Cut(name.Base().String(), "://")
		return re.MatchString(full) || re.MatchString(base)
	}, true
}
