package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// volumes is a case whose plan may send two requests.
func volumes(size int) benchCase {
	return benchCase{family: families()[3], shape: blocks, size: size, scenarios: scenarios()}
}

// took returns the results of runs with these milliseconds.
func took(c benchCase, s scenario, of subject, milliseconds ...int) []*result {
	var results []*result
	for _, ms := range milliseconds {
		results = append(results, &result{usage{wall: time.Duration(ms) * time.Millisecond, requests: 2}, c, s, of})
	}
	return results
}

func reportOf(parts ...[]*result) *report {
	r := &report{cli: "Terraform v1.11.4"}
	for _, part := range parts {
		r.results = append(r.results, part...)
	}
	return r
}

func TestProviderThatIsFasterThanItsLowerBoundIsAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kt, echo []int
		want     bool
	}{
		"slower":                       {[]int{1080}, []int{1000}, false},
		"equal":                        {[]int{1000, 1010, 990}, []int{1000, 1000, 1000}, false},
		"at the limit":                 {[]int{970}, []int{1000}, false},
		"below the limit":              {[]int{969}, []int{1000}, true},
		"one disturbed run":            {[]int{1050, 1050, 1050}, []int{1000, 1900, 1000}, false},
		"two disturbed runs":           {[]int{1050, 1050, 1050}, []int{1900, 1900, 1000}, true},
		"a machine that becomes slow":  {[]int{1050, 2100, 4200}, []int{1000, 2000, 4000}, false},
		"always faster on such a one":  {[]int{900, 1800, 3600}, []int{1000, 2000, 4000}, true},
		"without the echo provider":    {[]int{900}, nil, false},
		"even number, below the limit": {[]int{900, 1000}, []int{1000, 1000}, true},
	} {
		for _, s := range []scenario{plan, create, destroy} {
			r := reportOf(took(volumes(20), s, kt, test.kt...), took(volumes(20), s, echo, test.echo...),
				took(volumes(30), s, kt, 1000), took(volumes(30), s, echo, 1000))
			err := r.judge()
			if (err != nil) != test.want {
				t.Errorf("%s, %s: the error is %v", name, s, err)
			}
			if row := "20 volumes, " + s.title(); err != nil && !strings.Contains(err.Error(), row) {
				t.Errorf("%s: the error does not name %q: %v", name, row, err)
			}
		}
	}
}

func TestRequestForEachResourceInAPlanIsAnError(t *testing.T) {
	t.Parallel()
	for s, want := range map[scenario]bool{plan: true, replan: true, create: false, drift: false} {
		results := took(volumes(20), s, kt, 1000, 1000, 1000)
		if err := reportOf(results).judge(); err != nil {
			t.Errorf("%s with the requests of the family: %v", s, err)
		}
		results[1].requests = 22
		err := reportOf(results).judge()
		if (err != nil) != want || want && !strings.Contains(err.Error(), "22 requests") {
			t.Errorf("%s with a request for each resource: the error is %v", s, err)
		}
		for i := range results {
			results[i].requests = 0
		}
		err = reportOf(results).judge()
		if (err != nil) != want || want && !strings.Contains(err.Error(), "no requests") {
			t.Errorf("%s without any request in the audit log: the error is %v", s, err)
		}
	}
}

func TestTablesShowTheSpreadAndOnlyWhatWasMeasured(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	r := reportOf(took(volumes(20), plan, kt, 1070, 1090, 1080), took(volumes(20), plan, echo, 1000, 1000, 1000),
		took(volumes(20), create, kt, 250_400), took(volumes(20), create, bare, 81_230))
	if err := r.print(&text); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| resources | scenario | kt | echo | kt / echo | applies alone |",
		"| 20 volumes | plan without changes | 1.08 s (1.07–1.09) | 1.00 s | 1.08 (1.07–1.09) |  |",
		"| 20 volumes | creation | 250 s |  |  | 81.2 s |",
		"| resources | scenario | CPU of Terraform | CPU of kt | CPU of echo | requests of kt | " +
			"memory of kt | memory of echo |",
	} {
		if !strings.Contains(text.String(), line+"\n") {
			t.Errorf("the tables do not contain %s:\n%s", line, text.String())
		}
	}
}

func TestPlotHasAPanelForEachScenarioAndALineForEachSubject(t *testing.T) {
	t.Parallel()
	var parts [][]*result
	for _, size := range []int{10, 1000} {
		for _, s := range []scenario{create, plan} {
			for i, of := range []subject{kt, echo, builtin, peer} {
				parts = append(parts, took(volumes(size), s, of, size*(i+1), size*(i+2)))
			}
		}
	}
	var text strings.Builder
	if err := drawPlot(&text, reportOf(parts...).rows()); err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(text.String()))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(text.String(), "NaN") || strings.Contains(text.String(), "Inf") {
		t.Error("the plot has invalid numbers")
	}
	if got := strings.Count(text.String(), "<polyline"); got != 2*4 {
		t.Errorf("%d lines, want one for each measured subject of two panels", got)
	}
	if got := strings.Count(text.String(), ">kubectl<"); got != 1 {
		t.Errorf("the legend has kubectl %d times", got)
	}
}
