// Package auth decides who a client is and what it may do. This release knows one
// role for everybody; TLS, tokens, basic authentication and authorization plug in
// behind Authenticator and Authorizer.
//
// What does not belong here: reading the wire, and the meaning of a tenant or topic.
package auth
