// Package component has what several pages draw with: a table of which only the visible rows are rendered, a pager for
// text, and sparklines.
package component
