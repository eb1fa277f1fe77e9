// Package scrape fetches a broker's Prometheus metrics, sorts them by topic
// and subscription under Pulsar's names, and computes rates between scrapes.
//
// Three rules hold everywhere: what was not in the text is unknown, never 0; a
// failed scrape is a gap; a counter that went back was reset.
//
// What belongs here: fetching, parsing, rates, a bounded history. What does
// not: drawing, thresholds, the admin API.
package scrape
