package main

import (
	"fmt"
	"math"
	"slices"
)

// spread is the median of a figure over the runs, with the lowest and the highest.
type spread struct{ median, low, high float64 }

// spreadOf returns the spread of a figure over at least one run.
func spreadOf[T any](runs []T, figure func(T) float64) spread {
	var values []float64
	for _, one := range runs {
		values = append(values, figure(one))
	}
	slices.Sort(values)
	n := len(values)
	return spread{median: (values[(n-1)/2] + values[n/2]) / 2, low: values[0], high: values[n-1]}
}

// text returns the median with a unit, and the lowest and the highest in parentheses if the text shows a difference.
func (s spread) text(digits int, unit string) string {
	number := func(value float64) string { return fmt.Sprintf("%.*f", digits, value) }
	median, low, high := number(s.median), number(s.low), number(s.high)
	if low == high {
		return median + unit
	}
	return fmt.Sprintf("%s%s (%s–%s)", median, unit, low, high)
}

// seconds returns the text of a duration with three digits, but at most two of them after the point.
func (s spread) seconds() string {
	const most = 2
	digits := most
	if s.median >= 1 {
		digits = max(0, most-int(math.Log10(s.median)))
	}
	return s.text(digits, " s")
}
