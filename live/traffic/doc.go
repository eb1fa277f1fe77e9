// Package traffic produces and consumes messages through the official Pulsar
// client: spoolctl produce and consume, and the demo.
//
// What belongs here: loops over the client and their counts. What does not:
// flags, printing, the admin API.
package traffic
