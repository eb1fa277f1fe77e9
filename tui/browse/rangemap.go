package browse

import (
	"fmt"

	"spoolctl/format"
	"spoolctl/inspect"
)

// wholeMap draws what a subscription has acknowledged of a whole topic. Ledgers without a map of their own are acknowledged
// to their end.
func wholeMap(ledgers []inspect.Ledger, maps []inspect.LedgerMap, width int) string {
	of := make(map[int64]inspect.LedgerMap, len(maps))
	for _, m := range maps {
		of[m.Ledger] = m
	}
	var runs []format.Interval
	var partials []int64
	at := int64(0) // entries of the ledgers before
	for _, l := range ledgers {
		if l.Entries == 0 {
			continue
		}
		m, some := of[l.ID]
		if !some {
			m.Runs = [][2]int64{{0, l.Entries - 1}}
		}
		for _, r := range m.Runs {
			runs = append(runs, format.Interval{First: at + r[0], Last: at + r[1]})
		}
		for _, e := range m.Partials {
			partials = append(partials, at+e)
		}
		at += l.Entries
	}
	return format.RangeMap(format.Interval{Last: at - 1}, runs, partials, width)
}

// ledgerMaps draws each ledger in one line, at most so many, with a line that explains the cells.
func ledgerMaps(maps []inspect.LedgerMap, more, width int) (lines []string) {
	drawn := make([]string, len(maps))
	for i, l := range maps {
		runs := make([]format.Interval, len(l.Runs))
		for j, r := range l.Runs {
			runs[j] = format.Interval{First: r[0], Last: r[1]}
		}
		label := fmt.Sprintf("%-8d ", l.Ledger)
		drawn[i] = format.RangeMap(format.Interval{Last: l.Entries - 1}, runs, l.Partials, max(10, width-len(label)))
		lines = append(lines, label+drawn[i])
	}
	legend := format.RangeLegend(drawn...)
	if more > 0 {
		legend += fmt.Sprintf("   and %s that are not wholly acknowledged", plural(int64(more), "more ledger"))
	}
	if legend != "" {
		lines = append(lines, legend)
	}
	return lines
}
