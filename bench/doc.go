// Command bench measures spoold and spoolctl beside their peers and the bare storage engine, in interleaved rounds of one
// run, and prints ratios: absolute figures move with the disk and the neighbours, ratios of one run do not.
//
// Package load makes traffic for brokers that speak the Pulsar protocol; package peer starts and stops what is measured;
// package scenario says what is compared with what; package report writes the tables; bare is a program that opens the
// database and nothing more. The module is its own, so that peers never enter the product's dependencies.
package main
