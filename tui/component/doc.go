// Package component has what several pages draw with: a table of which only the visible rows are rendered, and sparklines.
package component
