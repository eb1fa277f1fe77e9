// Package scenario says what is compared with what, and computes the figures: in a round every side runs once, a ratio is
// the median of the rounds' ratios.
//
// What belongs here: one file for each family of scenarios. What does not: traffic (packages load and peer), tables
// (package report).
package scenario
