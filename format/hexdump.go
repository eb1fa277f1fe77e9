package format

import (
	"fmt"
	"io"
	"strings"
)

// Part names a stretch of a hexdump, for example "metadata".
type Part struct {
	Name   string
	Offset int // first byte of the part
}

// Hexdump writes data in lines of sixteen bytes: offset, hex, ASCII. Before the
// first byte of each part stands a line with the part's name. Parts must be
// sorted by offset; those outside data are left out.
func Hexdump(w io.Writer, data []byte, parts ...Part) error {
	for start := 0; start < len(data); {
		end := min(len(data), start-start%16+16)
		for len(parts) > 0 && parts[0].Offset <= start {
			if parts[0].Offset == start {
				if _, err := fmt.Fprintf(w, "-- %s\n", Clean(parts[0].Name)); err != nil {
					return err
				}
			}
			parts = parts[1:]
		}
		if len(parts) > 0 && parts[0].Offset < end {
			end = parts[0].Offset
		}
		if err := hexLine(w, data, start, end); err != nil {
			return err
		}
		start = end
	}
	return nil
}

func hexLine(w io.Writer, data []byte, start, end int) error {
	var hex, text strings.Builder
	base := start - start%16
	for i := base; i < base+16; i++ {
		if i == base+8 {
			hex.WriteByte(' ')
		}
		switch {
		case i < start:
			hex.WriteString("   ")
			text.WriteByte(' ')
		case i >= end:
			hex.WriteString("   ")
		case data[i] >= ' ' && data[i] < 0x7f:
			fmt.Fprintf(&hex, " %02x", data[i])
			text.WriteByte(data[i])
		default:
			fmt.Fprintf(&hex, " %02x", data[i])
			text.WriteByte('.')
		}
	}
	_, err := fmt.Fprintf(w, "%08x %s  |%s|\n", base, hex.String(), text.String())
	return err
}
