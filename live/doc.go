// Package live is the house of everything that talks to a running broker. It
// holds no code itself:
//
//   - live/admin: the admin HTTP API of spoold and Apache Pulsar
//   - live/scrape: metrics, and rates between two scrapes
//   - live/daemon: the spoold process: start, stop, status, logs
//
// What belongs here: questions to a broker and their answers as plain structs.
// What does not: how answers are printed (format), flags (cmd), spools on disk
// (storage, inspect).
package live
