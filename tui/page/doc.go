// Package page has the views of the dashboard, one file each. A page keeps where the user is, never data of its own: every
// frame replaces what it shows.
package page
