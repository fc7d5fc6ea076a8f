package main

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"text/template"
)

// A plot has one panel for each scenario: the duration over the number of resources, both logarithmic, with one line
// for each subject, and at each point the spread of the runs.
const (
	panelWidth, panelHeight = 300.0, 220.0
	panelLeft, panelTop     = 56.0, 40.0 // of the labels and the title
	panelBottom, gap        = 44.0, 16.0
	legendWidth, lineHeight = 122.0, 22.0
	plotColumns             = 3
	padding                 = 0.06 // of the range of the values, on both sides
	leastRange              = 0.7  // of an axis, in powers of ten: it has two ticks
)

const plotTemplate = `<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" ` +
	`viewBox="0 0 {{.Width}} {{.Height}}" font-family="sans-serif" font-size="11" fill="#444">
<rect width="100%" height="100%" fill="#fff"/>
{{range .Panels}}<g transform="translate({{.At}})">
<text y="-14" font-size="13" font-weight="bold" fill="#222">{{.Title}}</text>
{{range .Across}}<line x1="0" y1="{{.At}}" x2="{{$.PanelWidth}}" y2="{{.At}}" stroke="#ddd"/>
<text x="-7" y="{{.At}}" dy="4" text-anchor="end">{{.Label}}</text>
{{end}}{{range .Down}}<line x1="{{.At}}" y1="0" x2="{{.At}}" y2="{{$.PanelHeight}}" stroke="#ddd"/>
<text x="{{.At}}" y="{{$.PanelHeight}}" dy="16" text-anchor="middle">{{.Label}}</text>
{{end}}<text x="{{$.PanelWidth}}" y="{{$.PanelHeight}}" dy="32" text-anchor="end">number of {{$.Resources}}</text>
{{range .Lines}}<g fill="{{.Color}}" stroke="{{.Color}}" stroke-width="2">` +
	`<polyline points="{{range .Dots}}{{.X}},{{.Y}} {{end}}" fill="none"/>
{{range .Dots}}<line x1="{{.X}}" y1="{{.Low}}" x2="{{.X}}" y2="{{.High}}"/>` +
	`<circle cx="{{.X}}" cy="{{.Y}}" r="2.5"/>
{{end}}</g>
{{end}}</g>
{{end}}{{range .Legend}}<g transform="translate({{.At}})"><rect y="-9" width="18" height="9" fill="{{.Color}}"/>` +
	`<text x="24">{{.Label}}</text></g>
{{end}}</svg>
`

type picture struct {
	Width, Height, PanelWidth, PanelHeight pixels
	Resources                              string
	Panels                                 []panel
	Legend                                 []key
}

// pixels is written with one digit after the point.
type pixels float64

func (p pixels) String() string { return strconv.FormatFloat(float64(p), 'f', 1, 64) }

type point struct{ X, Y pixels }

func (p point) String() string { return p.X.String() + "," + p.Y.String() }

type key struct {
	At           point
	Color, Label string
}

type panel struct {
	At           point
	Title        string
	Across, Down []tick
	Lines        []series
}

type tick struct {
	At    pixels
	Label string
}

type series struct {
	Color string
	Dots  []dot
}

type dot struct{ X, Y, Low, High pixels }

// axis maps a logarithmic range to pixels.
type axis struct{ low, high, from, to float64 }

// newAxis returns an axis from the lowest to the highest value, with a padding.
func newAxis(values []float64, from, to float64) axis {
	low, high := math.Log10(slices.Min(values)), math.Log10(slices.Max(values))
	extra := max(padding*(high-low), (leastRange-(high-low))/2)
	return axis{low: low - extra, high: high + extra, from: from, to: to}
}

func (a axis) at(value float64) pixels {
	return pixels(a.from + (math.Log10(value)-a.low)/(a.high-a.low)*(a.to-a.from))
}

// ticks returns the multiples of powers of ten on the axis: by 1, 2 and 5, or by 1 alone if these are enough.
func (a axis) ticks(unit string) []tick {
	const enough = 4
	for _, factors := range [][]float64{{1}, {1, 2, 5}} {
		var ticks []tick
		for e := math.Floor(a.low); e <= a.high; e++ {
			for _, factor := range factors {
				exponent := e + math.Log10(factor)
				if exponent >= a.low && exponent <= a.high {
					value := factor * math.Pow10(int(e))
					ticks = append(ticks, tick{a.at(value), strconv.FormatFloat(value, 'g', 6, 64) + unit})
				}
			}
		}
		if len(ticks) >= enough || len(factors) > 1 {
			return ticks
		}
	}
	return nil
}

// drawn are the subjects in the order of the legend. The last line is on top.
func drawn() []key {
	of := func(s subject, color string) key { return key{Label: string(s), Color: color} }
	return []key{of(kt, "#0b6bcb"), of(echo, "#e07b00"), of(builtin, "#7a7a7a"), of(peer, "#c0392b"),
		of(bare, "#d63384"), of(requests, "#2e8b57"), of(inTurn, "#8e44ad")}
}

// drawPlot writes the plot of the first family and shape.
func drawPlot(w io.Writer, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	first := rows[0].of
	p := picture{PanelWidth: panelWidth, PanelHeight: panelHeight, Resources: first.family.name}
	keys := slices.DeleteFunc(drawn(), func(k key) bool {
		return !slices.ContainsFunc(rows, func(r row) bool { return len(r.runs[subject(k.Label)]) > 0 })
	})
	for _, s := range scenarios() {
		of := slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
			return r.of.family.name != first.family.name || r.of.shape != first.shape || r.scenario != s
		})
		if len(of) > 0 {
			slices.SortFunc(of, func(a, b row) int { return cmp.Compare(a.of.size, b.of.size) })
			p.Panels = append(p.Panels, panelOf(of, keys))
		}
	}
	width := gap + float64(min(len(p.Panels), plotColumns))*(panelLeft+panelWidth+gap)
	inLine := int((width - panelLeft) / legendWidth)
	for i, k := range keys {
		k.At = point{pixels(panelLeft + float64(i%inLine)*legendWidth), pixels(lineHeight * float64(i/inLine+1))}
		p.Legend = append(p.Legend, k)
	}
	top := lineHeight * float64((len(keys)-1)/inLine+1)
	for i := range p.Panels {
		p.Panels[i].At = point{
			pixels(panelLeft + float64(i%plotColumns)*(panelLeft+panelWidth+gap)),
			pixels(top + panelTop + float64(i/plotColumns)*(panelTop+panelHeight+panelBottom)),
		}
	}
	down := float64((len(p.Panels)-1)/plotColumns + 1)
	p.Width, p.Height = pixels(width), pixels(top+down*(panelTop+panelHeight+panelBottom))
	parsed, err := template.New("plot").Parse(plotTemplate)
	if err != nil {
		return err
	}
	return parsed.Execute(w, p)
}

// panelOf returns the panel of one scenario. The rows are in increasing order of their sizes.
func panelOf(rows []row, keys []key) panel {
	var sizes, times []float64
	for _, r := range rows {
		sizes = append(sizes, float64(r.of.size))
		for _, k := range keys {
			if s, ok := r.seconds(subject(k.Label)); ok {
				times = append(times, s.low, s.high)
			}
		}
	}
	x, y := newAxis(sizes, 0, panelWidth), newAxis(times, panelHeight, 0)
	p := panel{Title: rows[0].scenario.title(), Across: y.ticks(" s")}
	for _, size := range slices.Compact(sizes) {
		p.Down = append(p.Down, tick{x.at(size), strconv.Itoa(int(size))})
	}
	for _, k := range slices.Backward(keys) {
		one := series{Color: k.Color}
		for _, r := range rows {
			if s, ok := r.seconds(subject(k.Label)); ok {
				one.Dots = append(one.Dots, dot{x.at(float64(r.of.size)), y.at(s.median), y.at(s.low), y.at(s.high)})
			}
		}
		p.Lines = append(p.Lines, one)
	}
	return p
}
