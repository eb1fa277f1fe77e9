package component

import (
	"math"
	"strings"
)

// Spark draws the newest width values as a line of blocks, scaled between 0 and the largest; NaN is a gap.
func Spark(values []float64, width int) string {
	if len(values) > width {
		values = values[len(values)-width:]
	}
	top := 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			top = max(top, v)
		}
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", width-len(values)))
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case top == 0 || v <= 0:
			b.WriteRune(blocks[0])
		default:
			b.WriteRune(blocks[min(len(blocks)-1, int(v/top*float64(len(blocks))))])
		}
	}
	return b.String()
}
