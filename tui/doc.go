// Package tui is the terminal dashboard, spoolctl top.
//
// Data flows one way: a Monitor takes scrapes and makes Frames; the batch mode prints frames as they are, the screen draws
// them. Pages hold no data of their own but where the user is. Update never blocks: every scrape is a command with a
// deadline, one at a time for each broker, so a hanging broker only grows old on the screen.
//
// common has keys, styles and sizes, component what several pages draw with, page one file for each view; browse is the
// explorer of a stopped spool, built of the same. What belongs
// here: showing. What does not: fetching and rates (live/scrape), units and tables for pipes (format).
package tui
