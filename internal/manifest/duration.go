package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
)

var (
	bareNumber = regexp.MustCompile(`^[0-9]+$`)
	duration   = regexp.MustCompile(strings.ReplaceAll(
		`^(?:(NUMBER)d)?((?:NUMBER(?:ns|us|µs|μs|ms|s|m|h))*)$`, "NUMBER", `(?:[0-9]+\.?[0-9]*|\.[0-9]+)`))
)

// ParseDuration parses a duration that is not negative: "90s", "1m30s", "1d12h".
// The units are those of [time.ParseDuration], preceded by d for 24 hours. An
// integer without a unit is in seconds, as in Kubetorch. An error is a sentence
// without its subject ("is empty …").
func ParseDuration(s string) (time.Duration, error) {
	const longest = 64
	switch {
	case s == "":
		return 0, errors.New(`is empty: set a duration such as "90s", "15m" or "1d12h", or remove the attribute`)
	case len(s) > longest:
		return 0, fmt.Errorf("has %d characters, but a duration has at most %d", len(s), longest)
	case strings.HasPrefix(s, "-"):
		return 0, fmt.Errorf("is %q, but must not be negative", s)
	}
	text := s
	if bareNumber.MatchString(s) {
		text += "s"
	}
	parts := duration.FindStringSubmatch(text)
	if parts == nil {
		if joined := strings.Join(strings.Fields(s), ""); joined != s {
			if _, err := ParseDuration(joined); err == nil {
				return 0, fmt.Errorf("is %q, but a duration has no spaces: use %q", s, joined)
			}
		}
		return 0, fmt.Errorf(`is %q, which is not a duration: use numbers with units (d first, then h, m, s, ms), as `+
			`in "90s", "15m" or "1d12h", or an integer number of seconds`, s)
	}
	days, err := time.ParseDuration(cmp.Or(parts[1], "0") + "h") // with the number of days, each of 24 hours
	if err != nil || days > math.MaxInt64/24 {
		return 0, tooLong(s)
	}
	rest, err := time.ParseDuration(cmp.Or(parts[2], "0s"))
	if err != nil || rest > math.MaxInt64-24*days {
		return 0, tooLong(s)
	}
	return 24*days + rest, nil
}

// secondsOf returns the whole seconds of a duration, or nil for nil.
func secondsOf(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	return new(int64(*d / time.Second))
}

// fromSeconds is the inverse of secondsOf. It limits the number to an int32, because more could overflow.
func fromSeconds[N int32 | int64](n *N) *time.Duration {
	if n == nil {
		return nil
	}
	return new(time.Duration(min(max(int64(*n), -math.MaxInt32), math.MaxInt32)) * time.Second)
}

// FormatDuration formats a duration without zero units: "1m30s", and "20m" for twenty minutes.
func FormatDuration(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

func tooLong(s string) error {
	return fmt.Errorf("is %q, but must be less than 292 years", s)
}
