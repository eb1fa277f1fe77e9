// Package scenario has the measurements. Each compares two sides in rounds: in a round every side runs once, and the
// figure of a scenario is the median of the rounds' ratios.
package scenario
