// Package common has what every page needs: keys, styles and the size of the screen.
package common
