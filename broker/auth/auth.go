package auth

import (
	"context"
	"crypto/tls"
	"net"
)

// Credentials is what a client showed when it connected.
type Credentials struct {
	Method string               // CONNECT's auth_method_name; "" or "none" when not given
	Data   []byte               // CONNECT's auth_data; never logged
	Remote net.Addr             // the peer
	TLS    *tls.ConnectionState // nil on a plain connection
}

// Identity is who a client was found to be.
type Identity struct {
	Role string // the role that authorization rules name
}

// Authenticator finds the identity behind credentials. An error refuses the
// connection; its text goes to the client and must not hold a secret.
type Authenticator interface {
	Authenticate(ctx context.Context, c Credentials) (Identity, error)
}

// Action is what an identity wants to do with a topic.
type Action uint8

// The actions that Pulsar's permissions know.
const (
	Lookup Action = iota
	Produce
	Consume
)

// Authorizer says whether an identity may do something with a topic, given by its
// full name. A nil error allows; another one is refused to the client in words.
type Authorizer interface {
	Authorize(ctx context.Context, who Identity, a Action, topic, subscription string) error
}

// Anonymous gives everybody the same role and allows everything.
type Anonymous struct {
	Role string // "anonymous" when empty
}

// Authenticate gives the anonymous role.
func (a Anonymous) Authenticate(context.Context, Credentials) (Identity, error) {
	if a.Role == "" {
		return Identity{Role: "anonymous"}, nil
	}
	return Identity(a), nil
}

// Authorize allows.
func (Anonymous) Authorize(context.Context, Identity, Action, string, string) error { return nil }
