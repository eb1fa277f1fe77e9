//go:build race

package faulttest_test

// raceBuild: with the race detector Pebble checks invariants of its own that its clean-up after a failed compaction does not
// keep, and panics.
const raceBuild = true
