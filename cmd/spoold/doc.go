// Command spoold is the daemon: it reads its configuration, runs package broker until
// it is told to stop, and says where it listens.
//
// What belongs here: flags, signals, logs to standard error, exit codes. Everything the
// daemon does is in package broker.
package main
