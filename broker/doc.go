// Package broker puts the daemon together: the spool, the topics, the protocol server
// and the web server, from a Config; it starts them, says where they listen, and stops
// them in stages.
//
// The parts are in the folders below: conn (the binary protocol), topic (names, topics,
// producers, subscriptions), dispatch (who gets which message), auth (who a client is),
// fault (typed refusals), meter (rates). This package has the wiring, the
// configuration and the database's log only.
package broker
