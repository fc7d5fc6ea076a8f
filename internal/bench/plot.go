package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/template"
)

// A plot has one panel for each scenario: the duration over the number of computes, both logarithmic, with one line
// for each subject.
const (
	panelWidth, panelHeight = 300.0, 240.0
	marginLeft, marginTop   = 44.0, 34.0
	gap                     = 56.0
	decade                  = 10
)

const plotTemplate = `<svg xmlns="http://www.w3.org/2000/svg" ` +
	`viewBox="0 0 {{printf "%.0f" .Width}} {{printf "%.0f" .Height}}" font-family="sans-serif" font-size="11">
<rect width="100%" height="100%" fill="#fff"/>
{{range .Panels}}<g transform="translate({{printf "%.1f" .X}},{{printf "%.1f" .Y}})">
<text y="-12" font-size="13" font-weight="bold" fill="#222">{{.Title}}</text>
{{range .Grid}}<line x1="{{printf "%.1f" .X1}}" y1="{{printf "%.1f" .Y1}}" x2="{{printf "%.1f" .X2}}" ` +
	`y2="{{printf "%.1f" .Y2}}" stroke="#ddd"/>
<text x="{{printf "%.1f" .X}}" y="{{printf "%.1f" .Y}}" text-anchor="{{.Anchor}}" fill="#555">{{.Label}}</text>
{{end}}{{range .Lines}}<polyline points="{{.Points}}" fill="none" stroke="{{.Color}}" stroke-width="2"/>
{{range .Dots}}<circle cx="{{printf "%.1f" .X}}" cy="{{printf "%.1f" .Y}}" r="3" fill="{{.Color}}"/>
{{end}}{{end}}</g>
{{end}}{{range .Legend}}<g transform="translate({{printf "%.1f" .X}},{{printf "%.1f" .Y}})">` +
	`<rect y="-9" width="18" height="9" fill="{{.Color}}"/><text x="24" fill="#222">{{.Label}}</text></g>
{{end}}</svg>
`

type picture struct {
	Width, Height float64
	Panels        []panel
	Legend        []mark
}

type panel struct {
	X, Y  float64
	Title string
	Grid  []gridLine
	Lines []series
}

type gridLine struct {
	X1, Y1, X2, Y2, X, Y float64
	Anchor, Label        string
}

type series struct {
	Color, Points string
	Dots          []mark
}

type mark struct {
	X, Y         float64
	Color, Label string
}

// axis maps a range of decades to pixels.
type axis struct{ low, high, from, to float64 }

func newAxis(values []float64, from, to float64) axis {
	a := axis{low: math.Floor(math.Log10(slices.Min(values))), high: math.Ceil(math.Log10(slices.Max(values))),
		from: from, to: to}
	if a.high == a.low {
		a.high++
	}
	return a
}

func (a axis) at(value float64) float64 {
	return a.from + (math.Log10(value)-a.low)/(a.high-a.low)*(a.to-a.from)
}

// ticks returns the powers of ten.
func (a axis) ticks() []float64 {
	var ticks []float64
	for e := a.low; e <= a.high; e++ {
		ticks = append(ticks, math.Pow(decade, e))
	}
	return ticks
}

func colorOf(s subject) string {
	return map[subject]string{
		kt: "#0b6bcb", echo: "#e07b00", builtin: "#7a7a7a", requests: "#2e8b57", inTurn: "#8e44ad", peer: "#c0392b",
	}[s]
}

// drawPlot writes the plot of the first family and shape.
func drawPlot(w io.Writer, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	first := rows[0].of
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		return r.of.family.name != first.family.name || r.of.shape != first.shape
	})
	const columns = 3
	var p picture
	for _, s := range scenarios() {
		of := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.scenario != s })
		if len(of) == 0 {
			continue
		}
		one := panelOf(of)
		one.Title = s.title() + ": seconds over number of " + first.family.name
		one.X = marginLeft + float64(len(p.Panels)%columns)*(panelWidth+gap)
		one.Y = marginTop + float64(len(p.Panels)/columns)*(panelHeight+gap+marginTop)
		p.Panels = append(p.Panels, one)
	}
	across := float64(min(len(p.Panels), columns))
	down := float64((len(p.Panels) + columns - 1) / columns)
	p.Width, p.Height = marginLeft+across*(panelWidth+gap), down*(panelHeight+gap+marginTop)+gap
	for i, s := range measured(rows) {
		x := marginLeft + float64(i)*panelHeight/2
		p.Legend = append(p.Legend, mark{x, p.Height - marginTop/2, colorOf(s), string(s)})
	}
	parsed, err := template.New("plot").Parse(plotTemplate)
	if err != nil {
		return err
	}
	return parsed.Execute(w, p)
}

// measured returns the subjects of rows, in the order of the legend.
func measured(rows []row) []subject {
	return slices.DeleteFunc([]subject{kt, echo, builtin, requests, inTurn}, func(s subject) bool {
		return !slices.ContainsFunc(rows, func(r row) bool { return r.subject == s })
	})
}

func panelOf(rows []row) panel {
	var sizes, times []float64
	for _, r := range rows {
		sizes, times = append(sizes, float64(r.of.size)), append(times, r.wall.Seconds())
	}
	x, y := newAxis(sizes, 0, panelWidth), newAxis(times, panelHeight, 0)
	var p panel
	for _, tick := range x.ticks() {
		at := x.at(tick)
		p.Grid = append(p.Grid, gridLine{at, 0, at, panelHeight, at, panelHeight + gap/3, "middle", fmt.Sprint(tick)})
	}
	for _, tick := range y.ticks() {
		at := y.at(tick)
		p.Grid = append(p.Grid, gridLine{0, at, panelWidth, at, -gap / 8, at + gap/14, "end", fmt.Sprint(tick)})
	}
	for _, s := range measured(rows) {
		one := series{Color: colorOf(s)}
		var points []string
		of := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.subject != s })
		slices.SortStableFunc(of, func(a, b row) int { return cmp.Compare(a.of.size, b.of.size) })
		for _, r := range of {
			dot := mark{X: x.at(float64(r.of.size)), Y: y.at(r.wall.Seconds()), Color: one.Color}
			one.Dots = append(one.Dots, dot)
			points = append(points, fmt.Sprintf("%.1f,%.1f", dot.X, dot.Y))
		}
		one.Points = strings.Join(points, " ")
		p.Lines = append(p.Lines, one)
	}
	return p
}
