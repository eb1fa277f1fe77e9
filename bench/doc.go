// Command bench measures spoold beside its peers and the bare storage engine, in interleaved rounds of one run, and prints
// ratios: absolute figures move with the disk and the neighbours, ratios of one run do not.
//
// Package load is a load generator that speaks the wire protocol with pre-encoded frames, because a full client takes most
// of two cores for itself; package peer starts and stops what is measured; package scenario has the measurements. The
// module is its own, so that peers never enter the product's dependencies.
package main
