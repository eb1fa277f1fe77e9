package format

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Unknown is what a table shows for a value that nobody knows.
const Unknown = "n/a"

// Size shows a number of bytes with a binary unit: 512 B, 1.5 KiB, 18.4 GiB.
func Size(n int64) string {
	v, neg := float64(n), ""
	if n < 0 {
		v, neg = -v, "-"
	}
	if v < 1024 {
		return fmt.Sprintf("%s%.0f B", neg, v)
	}
	units := "KMGTPE"
	i := -1
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if v >= 1023.95 && i < len(units)-1 {
		v, i = 1, i+1
	}
	return fmt.Sprintf("%s%.1f %ciB", neg, v, units[i])
}

// ParseSize reads a number of bytes: 512, 10K, 10M, 1.5GiB, 2 TB. All units
// are powers of 1024, as in pulsar-admin.
func ParseSize(s string) (int64, error) {
	t := strings.TrimSpace(s)
	i := strings.IndexFunc(t, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i < 0 {
		i = len(t)
	}
	num, unit := t[:i], strings.ToUpper(strings.TrimSpace(t[i:]))
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	shift := 0
	if unit != "" {
		n := strings.Index("KMGTPE", unit)
		if n < 0 || len(unit) != 1 {
			return 0, fmt.Errorf("size %q: unknown unit; write for example 512, 64K, 10M or 2G", s)
		}
		shift = 10 * (n + 1)
	}
	if v, err := strconv.ParseInt(num, 10, 64); err == nil && v >= 0 {
		if v > math.MaxInt64>>shift {
			return 0, fmt.Errorf("size %q is more than 8 EiB", s)
		}
		return v << shift, nil
	}
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || v < 0 || math.IsNaN(v) {
		return 0, fmt.Errorf("size %q: write for example 512, 64K, 10M or 2G", s)
	}
	v *= float64(int64(1) << shift)
	if v >= math.MaxInt64 {
		return 0, fmt.Errorf("size %q is more than 8 EiB", s)
	}
	return int64(math.Round(v)), nil
}

// Count shows an integer with groups of three digits: 84,120.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Rate shows a number per second in short form: 0, 0.25, 12.3, 840, 12.1k, 3.4M.
func Rate(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return Unknown
	case a == 0:
		return "0"
	case a < 0.01:
		return "<0.01"
	case a < 9.995:
		return trimZeros(strconv.FormatFloat(v, 'f', 2, 64))
	case a < 99.95:
		return trimZeros(strconv.FormatFloat(v, 'f', 1, 64))
	case a < 999.5:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	units := "kMGTPE"
	i := -1
	for a >= 999.5 && i < len(units)-1 {
		a /= 1000
		v /= 1000
		i++
	}
	digits := 1
	if a >= 99.95 {
		digits = 0
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + units[i:i+1]
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// Duration shows the two largest units: 340ms, 1.2s, 4m12s, 3d4h, 2w3d.
func Duration(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign = "-"
		if d == math.MinInt64 {
			d++
		}
		d = -d
	}
	const day = 24 * time.Hour
	two := func(big, small time.Duration, b, s string) string {
		hi, lo := d/big, d%big/small
		if lo == 0 {
			return fmt.Sprintf("%s%d%s", sign, hi, b)
		}
		return fmt.Sprintf("%s%d%s%d%s", sign, hi, b, lo, s)
	}
	switch {
	case d == 0:
		return "0s"
	case d < time.Microsecond:
		return fmt.Sprintf("%s%dns", sign, d)
	case d < time.Millisecond:
		return sign + trimZeros(strconv.FormatFloat(float64(d)/1e3, 'f', 1, 64)) + "µs"
	case d < time.Second:
		return sign + trimZeros(strconv.FormatFloat(float64(d)/1e6, 'f', 1, 64)) + "ms"
	case d < 10*time.Second:
		return sign + trimZeros(strconv.FormatFloat(math.Floor(float64(d)/1e8)/10, 'f', 1, 64)) + "s"
	case d < time.Minute:
		return fmt.Sprintf("%s%ds", sign, d/time.Second)
	case d < time.Hour:
		return two(time.Minute, time.Second, "m", "s")
	case d < day:
		return two(time.Hour, time.Minute, "h", "m")
	case d < 14*day:
		return two(day, time.Hour, "d", "h")
	}
	return two(7*day, day, "w", "d")
}

var errDuration = errors.New("write for example 90s, 5m, 1h30m, 2d or 1w")

// ParseDuration reads what Duration writes and more: units ns us ms s m h d w,
// several of them in a row, fractions, a leading minus. A bare 0 is allowed.
func ParseDuration(s string) (time.Duration, error) {
	rest := strings.TrimSpace(s)
	neg := strings.HasPrefix(rest, "-")
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "-"), "+")
	if rest == "0" {
		return 0, nil
	}
	if rest == "" {
		return 0, fmt.Errorf("duration %q: %w", s, errDuration)
	}
	var total float64
	for rest != "" {
		i := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if i <= 0 {
			return 0, fmt.Errorf("duration %q: %w", s, errDuration)
		}
		v, err := strconv.ParseFloat(rest[:i], 64)
		if err != nil {
			return 0, fmt.Errorf("duration %q: %w", s, errDuration)
		}
		rest = rest[i:]
		j := strings.IndexAny(rest, "0123456789.")
		if j < 0 {
			j = len(rest)
		}
		unit, ok := durationUnit(rest[:j])
		if !ok {
			return 0, fmt.Errorf("duration %q: unknown unit %q; %w", s, rest[:j], errDuration)
		}
		total += v * float64(unit)
		rest = rest[j:]
	}
	if total >= math.MaxInt64 {
		return 0, fmt.Errorf("duration %q is more than 292 years", s)
	}
	d := time.Duration(math.Round(total))
	if neg {
		d = -d
	}
	return d, nil
}

func durationUnit(s string) (time.Duration, bool) {
	switch s {
	case "ns":
		return time.Nanosecond, true
	case "us", "µs":
		return time.Microsecond, true
	case "ms":
		return time.Millisecond, true
	case "s":
		return time.Second, true
	case "m":
		return time.Minute, true
	case "h":
		return time.Hour, true
	case "d":
		return 24 * time.Hour, true
	case "w":
		return 7 * 24 * time.Hour, true
	}
	return 0, false
}

// ParseTime reads a moment: RFC 3339, a date (UTC midnight), "now", or a
// duration before now with or without a minus (-3h, 2d).
func ParseTime(s string, now time.Time) (time.Time, error) {
	if s == "now" {
		return now, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	d, err := ParseDuration(s)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q: write RFC 3339 (2026-01-31T12:00:00Z), a date, or an age such as 3h or 2d", s)
	}
	if d > 0 {
		d = -d
	}
	return now.Add(d), nil
}

// Age shows how long ago t was, as Duration does; a moment in the future has a
// leading minus, the zero time is unknown.
func Age(t, now time.Time) string {
	if t.IsZero() {
		return Unknown
	}
	return Duration(now.Sub(t))
}
