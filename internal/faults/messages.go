package main

import (
	"encoding/json"
	"slices"
	"strings"
)

// Severities of diagnostics.
const (
	severityError   = "error"
	severityWarning = "warning"
)

// Actions of planned changes.
const (
	actionCreate  = "create"
	actionUpdate  = "update"
	actionReplace = "replace"
	actionDelete  = "delete"
)

// messages are the messages of a command with -json
// (https://developer.hashicorp.com/terraform/internals/machine-readable-ui).
type messages struct {
	diagnostics []diagnostic
	planned     map[string]string // action by address
	text        []string          // lines that are not messages, such as the stack trace of a provider
}

// diagnostic is an error or a warning. The warning about development overrides and errors of the CLI have no address.
type diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
}

// parseMessages parses the output of a command with -json. A command that was killed may leave an incomplete line.
func parseMessages(output string) messages {
	out := messages{planned: map[string]string{}}
	for line := range strings.Lines(output) {
		var message struct {
			Type       string     `json:"type"`
			Diagnostic diagnostic `json:"diagnostic"`
			Change     struct {
				Action   string `json:"action"`
				Resource struct {
					Addr string `json:"addr"`
				} `json:"resource"`
			} `json:"change"`
		}
		if json.Unmarshal([]byte(line), &message) != nil || message.Type == "" {
			if line = strings.TrimSpace(line); line != "" {
				out.text = append(out.text, line)
			}
			continue
		}
		switch message.Type {
		case "diagnostic":
			out.diagnostics = append(out.diagnostics, message.Diagnostic)
		case "planned_change":
			out.planned[message.Change.Resource.Addr] = message.Change.Action
		}
	}
	return out
}

func (m messages) errors() []diagnostic {
	return slices.DeleteFunc(slices.Clone(m.diagnostics), func(d diagnostic) bool {
		return d.Severity != severityError
	})
}

// warnsAbout reports whether there is a warning for a resource.
func (m messages) warnsAbout(address string) bool {
	return slices.ContainsFunc(m.diagnostics, func(d diagnostic) bool {
		return d.Severity == severityWarning && d.Address == address
	})
}

// crashed reports whether the provider or the CLI has crashed.
func (m messages) crashed() bool {
	lost := func(d diagnostic) bool { return d.Summary == "Plugin did not respond" }
	return slices.ContainsFunc(m.diagnostics, lost) || slices.ContainsFunc(m.text, func(line string) bool {
		return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	})
}

// inconsistent returns the diagnostic of a plan or a result that contradicts an earlier one, or nil.
func (m messages) inconsistent() *diagnostic {
	for i, d := range m.diagnostics {
		switch d.Summary {
		case "Provider produced inconsistent final plan", "Provider produced inconsistent result after apply",
			"Provider produced invalid plan", "Provider returned invalid result object after apply":
			return &m.diagnostics[i]
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
