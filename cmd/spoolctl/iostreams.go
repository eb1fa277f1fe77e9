package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// ioStreams are the program's three streams and what is behind them.
type ioStreams struct {
	in       io.Reader
	out, err io.Writer
	// inTerminal and outTerminal are asked of the terminal driver: /dev/null is
	// a character device too, and not a terminal.
	inTerminal, outTerminal bool
	// width is the number of columns of the terminal, 0 when out is none.
	width func() int
}

func systemStreams() *ioStreams {
	s := &ioStreams{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	s.inTerminal = term.IsTerminal(int(os.Stdin.Fd()))
	s.outTerminal = term.IsTerminal(int(os.Stdout.Fd()))
	s.width = func() int {
		w, _, err := term.GetSize(int(os.Stdout.Fd()))
		if err != nil {
			return 0
		}
		return w
	}
	return s
}
