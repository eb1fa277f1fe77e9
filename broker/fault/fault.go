package fault

import (
	"errors"
	"fmt"
)

// Kind says why a request was refused.
type Kind uint8

// The kinds of refusal. The comment names the Pulsar error code that a client sees.
const (
	Unknown              Kind = iota // UnknownError: a failure that has no better name
	Invalid                          // InvalidTopicName or a malformed argument
	TenantNotFound                   // MetadataError
	NamespaceNotFound                // MetadataError
	TopicNotFound                    // TopicNotFound
	SubscriptionNotFound             // SubscriptionNotFound
	MessageNotFound                  // UnknownError; HTTP 404
	ConsumerNotFound                 // ConsumerNotFound
	Exists                           // MetadataError; HTTP 409
	Conflict                         // MetadataError: something in use or not empty; HTTP 409
	Precondition                     // MetadataError: clients are attached, a bad limit; HTTP 412
	NotAllowed                       // NotAllowedError: not valid for this kind of topic; HTTP 405
	Unsupported                      // UnsupportedVersionError: a command this daemon does not have
	Unauthorized                     // AuthorizationError
	ProducerBusy                     // ProducerBusy
	ProducerFenced                   // ProducerFenced
	ConsumerBusy                     // ConsumerBusy
	ConsumerAssign                   // ConsumerAssignError
	Terminated                       // TopicTerminatedError
	NotReady                         // ServiceNotReady: try again
	Checksum                         // ChecksumError
	Persistence                      // PersistenceError: the spool refused or failed
	TooMany                          // TooManyRequests
	SchemaNotFound                   // TopicNotFound; HTTP 404
	IncompatibleSchema               // IncompatibleSchema; HTTP 409
	InvalidSchema                    // IncompatibleSchema: the definition itself is wrong; HTTP 422
	QuotaHeld                        // ProducerBlockedQuotaExceededError: try again until the backlog shrinks
	QuotaExceeded                    // ProducerBlockedQuotaExceededException: a backlog is too large
)

// Error is one refusal.
type Error struct {
	Kind Kind
	Text string // for people: what was refused and what to do; never empty
	Err  error  // the cause, or nil
}

// New makes a refusal with a formatted text.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// Wrap makes a refusal that carries its cause. It returns nil for a nil cause,
// and a cause that already is a refusal unchanged.
func Wrap(kind Kind, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...), Err: err}
}

// Error gives the text and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Text
	}
	return e.Text + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf gives the kind of the first refusal in err's chain, Unknown when there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Unknown
}

// Is reports whether err is a refusal of the given kind.
func Is(err error, kind Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}
