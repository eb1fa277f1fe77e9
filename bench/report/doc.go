// Package report writes outcomes as tables: text for the terminal, Markdown for docs/performance.md.
package report
