package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report contains all results.
type report struct {
	start   time.Duration // of the provider, until its schema is served
	results []*result
}

// row summarizes the runs of one scenario with one subject.
type row struct {
	usage // medians, but the maximum of memory and requests

	of       benchCase
	scenario scenario
	subject  subject
}

// group identifies the runs that a row summarizes.
func (r *result) group() string {
	return fmt.Sprintf("%s %s %d %s %s", r.of.family.name, r.of.shape, r.of.size, r.scenario, r.subject)
}

// rows returns the rows in the order in which they were measured.
func (r *report) rows() []row {
	groups := map[string][]usage{}
	var order []*result
	for _, one := range r.results {
		if groups[one.group()] == nil {
			order = append(order, one)
		}
		groups[one.group()] = append(groups[one.group()], one.usage)
	}
	rows := make([]row, len(order))
	for i, first := range order {
		runs := groups[first.group()]
		rows[i] = row{of: first.of, scenario: first.scenario, subject: first.subject, usage: usage{
			wall:     median(runs, func(u usage) time.Duration { return u.wall }),
			cli:      median(runs, func(u usage) time.Duration { return u.cli }),
			provider: median(runs, func(u usage) time.Duration { return u.provider }),
			peakKiB:  highest(runs, func(u usage) int { return u.peakKiB }),
			requests: highest(runs, func(u usage) int { return u.requests }),
			killed:   slices.ContainsFunc(runs, func(u usage) bool { return u.killed }),
		}}
	}
	return rows
}

func median[T any](all []T, of func(T) time.Duration) time.Duration {
	var times []time.Duration
	for _, one := range all {
		times = append(times, of(one))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

func highest[T any](all []T, of func(T) int) int {
	top := 0
	for _, one := range all {
		top = max(top, of(one))
	}
	return top
}

// write writes the table and the plot.
func (r *report) write(path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	table, err := os.Create(path + ".md")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, table.Close()) }()
	if err := r.print(table); err != nil {
		return err
	}
	plot, err := os.Create(path + ".svg")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plot.Close()) }()
	return drawPlot(plot, r.rows())
}

// print writes the table in Markdown.
func (r *report) print(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Measured with %d CPUs. The provider serves its schema %d ms after its start.\n\n",
		runtime.NumCPU(), r.start.Milliseconds())
	text.WriteString("| resources | scenario | with | time | of echo | CPU of Terraform | CPU of the provider | " +
		"requests | peak memory |\n|---|---|---|---:|---:|---:|---:|---:|---:|\n")
	rows := r.rows()
	for _, one := range rows {
		cells := []string{one.of.String(), one.scenario.title(), string(one.subject), seconds(one.wall),
			ratioToEcho(one, rows), unless(!one.hasCLI(), one.cpu(one.cli)),
			unless(!one.hasProvider(), one.cpu(one.provider)), unless(!one.hasRequests(), strconv.Itoa(one.requests)),
			unless(!one.hasProvider(), fmt.Sprintf("%d MiB", one.peakKiB/1024))}
		text.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (r row) hasProvider() bool { return r.subject == echo || r.hasRequests() }

func (r row) hasRequests() bool { return r.subject == kt || r.subject == peer }

func (r row) hasCLI() bool { return r.hasProvider() || r.subject == builtin }

// cpu formats a CPU time, which is not known if a process was killed.
func (r row) cpu(d time.Duration) string {
	if r.killed {
		return "killed"
	}
	return seconds(d)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func unless(empty bool, text string) string {
	if empty {
		return ""
	}
	return text
}

// ratioToEcho is the duration of the provider divided by that of the echo provider.
func ratioToEcho(r row, rows []row) string {
	if r.subject != kt {
		return ""
	}
	for _, other := range rows {
		if other.subject == echo && other.scenario == r.scenario && other.of.String() == r.of.String() {
			return fmt.Sprintf("%.2f", r.wall.Seconds()/other.wall.Seconds())
		}
	}
	return ""
}
