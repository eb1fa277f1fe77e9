// Package admin is a client of Pulsar's admin HTTP API, for spoold and for
// Apache Pulsar brokers.
//
// Every call is a Request, a plain value made by a function named after the
// call (CreateTenant, TopicStats, …). A Client sends it. So a dry run prints
// the very request that a run sends. Answers keep the server's JSON: typed
// readers take out what spoolctl works with, and unknown fields stay in the
// raw body.
//
// The pulsaradmin package of the official client was tried and not used: it
// drops unknown fields, cannot show a request without sending it, and reads
// bodies without a bound.
//
// What belongs here: paths, bodies and errors of the admin API. What does not:
// metrics (live/scrape), messages over the binary protocol, printing.
package admin
