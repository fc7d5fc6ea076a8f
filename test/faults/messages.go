package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// Actions of planned changes.
const (
	actionCreate  = "create"
	actionUpdate  = "update"
	actionReplace = "replace"
	actionDelete  = "delete"
)

// messages are the messages of a command with -json.
type messages struct{ acctest.Messages }

func parseMessages(output string) messages { return messages{acctest.ParseMessages(output)} }

// warnsAbout reports whether there is a warning for a resource.
func (m messages) warnsAbout(address string) bool {
	return slices.ContainsFunc(m.Diagnostics, func(d acctest.Diagnostic) bool {
		return d.Severity == acctest.SeverityWarning && d.Address == address
	})
}

// crashed reports whether the provider or the CLI has crashed.
func (m messages) crashed() bool {
	lost := func(d acctest.Diagnostic) bool { return d.Summary == "Plugin did not respond" }
	return slices.ContainsFunc(m.Diagnostics, lost) || slices.ContainsFunc(m.Text, func(line string) bool {
		return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	})
}

// inconsistent returns the diagnostic of a plan or a result that contradicts an earlier one, or nil.
func (m messages) inconsistent() *acctest.Diagnostic {
	for i, d := range m.Diagnostics {
		switch d.Summary {
		case "Provider produced inconsistent final plan", "Provider produced inconsistent result after apply",
			"Provider produced invalid plan", "Provider returned invalid result object after apply":
			return &m.Diagnostics[i]
		}
	}
	return nil
}

// change is a planned change in the output of `show -json`.
type change struct {
	Address string `json:"address"`
	Change  struct {
		Actions      []string       `json:"actions"`
		Before       map[string]any `json:"before"`
		After        map[string]any `json:"after"`
		AfterUnknown map[string]any `json:"after_unknown"`
	} `json:"change"`
}

func parsePlan(text string) ([]change, error) {
	var plan struct {
		Changes []change `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(plan.Changes, func(c change) bool {
		return slices.Equal(c.Change.Actions, []string{"no-op"})
	}), nil
}
