package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"spoolctl/format"
)

// durationValue is a flag that reads durations with s m h d w.
type durationValue time.Duration

// Set implements pflag.Value.
func (d *durationValue) Set(s string) error {
	v, err := format.ParseDuration(s)
	if err != nil {
		return err
	}
	if v < 0 {
		return fmt.Errorf("duration %s is negative", s)
	}
	*d = durationValue(v)
	return nil
}

// String implements pflag.Value.
func (d *durationValue) String() string { return format.Duration(time.Duration(*d)) }

// Type implements pflag.Value.
func (d *durationValue) Type() string { return "duration" }

// sizeValue is a flag that reads bytes such as 10M.
type sizeValue int64

// Set implements pflag.Value.
func (v *sizeValue) Set(s string) error {
	n, err := format.ParseSize(s)
	*v = sizeValue(n)
	return err
}

// String implements pflag.Value.
func (v *sizeValue) String() string { return fmt.Sprint(int64(*v)) }

// Type implements pflag.Value.
func (v *sizeValue) Type() string { return "size" }

// choice is a flag with a fixed set of values.
type choice struct {
	val  *string
	from []string
}

func newChoice(val *string, from ...string) *choice { return &choice{val: val, from: from} }

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	i := slices.IndexFunc(c.from, func(v string) bool { return strings.EqualFold(v, s) })
	if i < 0 {
		return fmt.Errorf("must be one of %s", strings.Join(c.from, ", "))
	}
	*c.val = c.from[i]
	return nil
}

// String implements pflag.Value.
func (c *choice) String() string { return *c.val }

// Type implements pflag.Value.
func (c *choice) Type() string { return strings.Join(c.from, "|") }
