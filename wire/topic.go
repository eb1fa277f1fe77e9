package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrTopicName is wrapped by every error of ParseTopic.
var ErrTopicName = errors.New("invalid topic name")

// ErrNamespaceName is wrapped by every error of ParseNamespace.
var ErrNamespaceName = errors.New("invalid namespace name")

const (
	defaultTenant    = "public"
	defaultNamespace = "default"
	partitionSuffix  = "-partition-"
)

// Domain says whether the messages of a topic are stored.
type Domain uint8

// The domains of Pulsar.
const (
	Persistent Domain = iota
	NonPersistent
)

// String is the domain as it stands before "://" in a topic name.
func (d Domain) String() string {
	if d == NonPersistent {
		return "non-persistent"
	}
	return "persistent"
}

// TopicName is a topic or one partition of a topic. Local keeps the
// "-partition-N" of a partition. Values are comparable.
type TopicName struct {
	Domain                   Domain
	Tenant, Namespace, Local string
}

// ParseTopic reads "topic", "tenant/namespace/topic" or either behind a domain
// ("persistent://tenant/namespace/topic"). The first form is completed with the
// namespace public/default. Percent signs have no special meaning.
func ParseTopic(s string) (TopicName, error) {
	var t TopicName
	rest := s
	domain, afterDomain, hasDomain := strings.Cut(s, "://")
	if hasDomain {
		switch domain {
		case "persistent":
		case "non-persistent":
			t.Domain = NonPersistent
		default:
			return TopicName{}, fmt.Errorf("%w %q: the domain must be persistent or non-persistent", ErrTopicName, s)
		}
		rest = afterDomain
	}
	parts := strings.SplitN(rest, "/", 4)
	switch {
	case len(parts) == 1 && !hasDomain:
		t.Tenant, t.Namespace, t.Local = defaultTenant, defaultNamespace, parts[0]
	case len(parts) == 3:
		t.Tenant, t.Namespace, t.Local = parts[0], parts[1], parts[2]
	default:
		return TopicName{}, fmt.Errorf("%w %q: want tenant/namespace/topic", ErrTopicName, s)
	}
	if !ValidName(t.Tenant) || !ValidName(t.Namespace) {
		return TopicName{}, fmt.Errorf("%w %q: tenant and namespace may hold letters, digits and _ - = : . only", ErrTopicName, s)
	}
	if !validLocal(t.Local) {
		return TopicName{}, fmt.Errorf("%w %q: the topic must be UTF-8 text without control characters, and not empty", ErrTopicName, s)
	}
	return t, nil
}

// String is the full name, domain included. ParseTopic reads it back.
func (t TopicName) String() string {
	return t.Domain.String() + "://" + t.Tenant + "/" + t.Namespace + "/" + t.Local
}

// NamespaceName is the namespace of the topic.
func (t TopicName) NamespaceName() NamespaceName { return NamespaceName{t.Tenant, t.Namespace} }

// Partition is the index in "-partition-N", -1 when the name has none.
func (t TopicName) Partition() int {
	_, i := splitPartition(t.Local)
	return i
}

// Base is the partitioned topic that t is a partition of, t itself when it is none.
func (t TopicName) Base() TopicName {
	t.Local, _ = splitPartition(t.Local)
	return t
}

// WithPartition is partition i of t, which should be a base name; i must not be
// negative.
func (t TopicName) WithPartition(i int) TopicName {
	t.Local += partitionSuffix + strconv.Itoa(i)
	return t
}

// splitPartition cuts "-partition-N" off a local name. Only the digits that
// strconv would print count: "x-partition-01" is an ordinary topic, otherwise
// two names would mean one partition.
func splitPartition(local string) (base string, index int) {
	at := strings.LastIndex(local, partitionSuffix)
	if at <= 0 {
		return local, -1
	}
	digits := local[at+len(partitionSuffix):]
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || (len(digits) > 1 && digits[0] == '0') {
		return local, -1
	}
	return local[:at], int(n)
}

// NamespaceName is a tenant and one of its namespaces. Values are comparable.
type NamespaceName struct{ Tenant, Namespace string }

// ParseNamespace reads "tenant/namespace".
func ParseNamespace(s string) (NamespaceName, error) {
	tenant, namespace, ok := strings.Cut(s, "/")
	if !ok || !ValidName(tenant) || !ValidName(namespace) {
		return NamespaceName{}, fmt.Errorf("%w %q: want tenant/namespace of letters, digits and _ - = : .", ErrNamespaceName, s)
	}
	return NamespaceName{tenant, namespace}, nil
}

// String is "tenant/namespace".
func (n NamespaceName) String() string { return n.Tenant + "/" + n.Namespace }

// ValidName reports whether s may be the name of a tenant or of a namespace:
// one or more of ASCII letters, digits and _ - = : . as in Pulsar.
func ValidName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '_', c == '-', c == '=', c == ':', c == '.':
		default:
			return false
		}
	}
	return s != ""
}

func validLocal(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
