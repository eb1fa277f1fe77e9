// Package admin is the HTTP side of the daemon: Pulsar's admin REST API v2 and lookup under Pulsar's own paths, bodies,
// codes and reason texts, and this daemon's extensions under /spool/v1.
//
// What belongs here: routes, reading requests, writing answers, and the table from refusals to status codes. What does not:
// any rule about tenants, topics or subscriptions (package topic has them), and metrics (package export).
package admin
