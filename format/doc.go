// Package format turns result structs into text: tables, JSON, YAML, CSV, and
// the rest of spoolctl's -o values, and values into human units and back.
//
// One struct per row is the only description of an output. Its json tag names
// the field in JSON, NDJSON, YAML, CSV, TSV, templates, --jq, --sort and
// --columns; its col tag gives the table header; its fmt tag says how a table
// cell shows the value:
//
//	type Ledger struct {
//		ID    int64     `json:"ledgerId" col:"LEDGER"`
//		Bytes int64     `json:"bytes" col:"BYTES" fmt:"bytes"`
//		Start time.Time `json:"created" col:"AGE,wide" fmt:"age"`
//	}
//
// A field without a col tag, or with ",wide", is a column of -o wide only, so
// no field can exist in just one of the formats. A nil pointer, a NaN and a
// zero time are unknown: "n/a" in a table, null in JSON, never 0.
//
// What belongs here: everything about how a result looks. What does not:
// where a result comes from, exit codes, flags, colours of the dashboard.
// The package imports nothing of this module.
package format
