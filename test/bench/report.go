package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// report contains all results.
type report struct {
	cli     string // and its version
	start   spread // milliseconds of the provider, until its schema is served
	results []*result
}

// row contains the runs of one scenario, by subject.
type row struct {
	of       benchCase
	scenario scenario
	runs     map[subject][]usage
}

func (r row) String() string { return fmt.Sprintf("%s, %s", r.of, r.scenario.title()) }

// rows returns the rows by case, in the order in which the cases were measured.
func (r *report) rows() []row {
	var rows []row
	var cases []string
	for _, one := range r.results {
		if !slices.Contains(cases, one.of.String()) {
			cases = append(cases, one.of.String())
		}
		at := slices.IndexFunc(rows, func(r row) bool {
			return r.of.String() == one.of.String() && r.scenario == one.scenario
		})
		if at < 0 {
			at = len(rows)
			rows = append(rows, row{one.of, one.scenario, map[subject][]usage{}})
		}
		rows[at].runs[one.subject] = append(rows[at].runs[one.subject], one.usage)
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(slices.Index(cases, a.of.String()), slices.Index(cases, b.of.String())),
			cmp.Compare(slices.Index(scenarios(), a.scenario), slices.Index(scenarios(), b.scenario)))
	})
	return rows
}

// seconds returns the durations with a subject.
func (r row) seconds(of subject) (spread, bool) {
	runs := r.runs[of]
	if len(runs) == 0 {
		return spread{}, false
	}
	return spreadOf(runs, func(u usage) float64 { return u.wall.Seconds() }), true
}

// ratio returns the durations of the provider divided by those of the echo provider immediately before. The speed of
// the machine may change between the runs, but hardly within a pair.
func (r row) ratio() (spread, bool) {
	pairs := min(len(r.runs[kt]), len(r.runs[echo]))
	if pairs == 0 {
		return spread{}, false
	}
	indices := make([]int, pairs)
	for i := range indices {
		indices[i] = i
	}
	return spreadOf(indices, func(i int) float64 {
		return r.runs[kt][i].wall.Seconds() / r.runs[echo][i].wall.Seconds()
	}), true
}

// write writes the tables and the plot.
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

// print writes the tables in Markdown.
func (r *report) print(w io.Writer) error {
	rows := r.rows()
	_, err := fmt.Fprintf(w, "Measured with %d CPUs and %s. Each figure is the median of its runs, with the lowest "+
		"and the highest in\nparentheses. The provider serves its schema %s after its start.\n\n%s\n%s",
		runtime.NumCPU(), r.cli, r.start.text(0, " ms"), table(times(), rows), table(costs(), rows))
	return err
}

// column is a column of a table.
type column struct {
	title string
	cell  func(row) string // empty if it was not measured
}

// times are the columns of the durations.
func times() []column {
	took := func(of subject) column {
		return column{string(of), func(r row) string {
			if s, ok := r.seconds(of); ok {
				return s.seconds()
			}
			return ""
		}}
	}
	ratio := column{"kt / echo", func(r row) string {
		if s, ok := r.ratio(); ok {
			return s.text(2, "")
		}
		return ""
	}}
	return []column{took(kt), took(echo), ratio, took(builtin), took(peer), took(bare), took(requests), took(inTurn)}
}

// costs are the columns of CPU time, requests and memory.
func costs() []column {
	columns := []column{cpu("Terraform", kt, func(u usage) time.Duration { return u.cli })}
	for _, of := range []subject{kt, echo, peer} {
		columns = append(columns, cpu(string(of), of, func(u usage) time.Duration { return u.provider }))
	}
	for _, of := range []subject{kt, peer} {
		columns = append(columns, column{"requests of " + string(of),
			cellOf(of, func(runs []usage) string { return requestsOf(runs).text(0, "") })})
	}
	for _, of := range []subject{kt, echo, peer} {
		columns = append(columns, column{"memory of " + string(of), cellOf(of, func(runs []usage) string {
			return spreadOf(runs, func(u usage) float64 { return float64(u.peakKiB) / 1024 }).text(0, " MiB")
		})})
	}
	return columns
}

func requestsOf(runs []usage) spread {
	return spreadOf(runs, func(u usage) float64 { return float64(u.requests) })
}

// cellOf returns the cell of the runs with a subject.
func cellOf(of subject, text func([]usage) string) func(row) string {
	return func(r row) string {
		if len(r.runs[of]) == 0 {
			return ""
		}
		return text(r.runs[of])
	}
}

// cpu is a column of a CPU time in the runs with a subject. It is not known if a process was killed.
func cpu(of string, with subject, figure func(usage) time.Duration) column {
	return column{"CPU of " + of, cellOf(with, func(runs []usage) string {
		if slices.ContainsFunc(runs, func(u usage) bool { return u.killed }) {
			return "killed"
		}
		return spreadOf(runs, func(u usage) float64 { return figure(u).Seconds() }).seconds()
	})}
}

// table returns a table without the columns that are empty in all rows.
func table(columns []column, rows []row) string {
	columns = slices.DeleteFunc(columns, func(c column) bool {
		return !slices.ContainsFunc(rows, func(r row) bool { return c.cell(r) != "" })
	})
	var text strings.Builder
	line := func(cells []string) { text.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	titles := []string{"resources", "scenario"}
	for _, c := range columns {
		titles = append(titles, c.title)
	}
	line(titles)
	text.WriteString("|---|---|" + strings.Repeat("---:|", len(columns)) + "\n")
	for _, r := range rows {
		cells := []string{r.of.String(), r.scenario.title()}
		for _, c := range columns {
			cells = append(cells, c.cell(r))
		}
		line(cells)
	}
	return text.String()
}
