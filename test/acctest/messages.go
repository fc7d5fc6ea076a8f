package acctest

import (
	"encoding/json"
	"slices"
	"strings"
)

// Messages are the messages of a command with -json
// (https://developer.hashicorp.com/terraform/internals/machine-readable-ui).
type Messages struct {
	Diagnostics []Diagnostic
	Planned     map[string]string // action by address
	Text        []string          // lines that are not messages, such as the stack trace of a provider
}

// Diagnostic is an error or a warning. The warning about development overrides and
// errors of the CLI have no address.
type Diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
}

// Severities of diagnostics.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// ParseMessages parses the output of a command with -json. A command that was
// killed may leave an incomplete line.
func ParseMessages(output string) Messages {
	out := Messages{Planned: map[string]string{}}
	for line := range strings.Lines(output) {
		var message struct {
			Type       string     `json:"type"`
			Diagnostic Diagnostic `json:"diagnostic"`
			Change     struct {
				Action   string `json:"action"`
				Resource struct {
					Addr string `json:"addr"`
				} `json:"resource"`
			} `json:"change"`
		}
		if json.Unmarshal([]byte(line), &message) != nil || message.Type == "" {
			if line = strings.TrimSpace(line); line != "" {
				out.Text = append(out.Text, line)
			}
			continue
		}
		switch message.Type {
		case "diagnostic":
			out.Diagnostics = append(out.Diagnostics, message.Diagnostic)
		case "planned_change":
			out.Planned[message.Change.Resource.Addr] = message.Change.Action
		}
	}
	return out
}

// Errors returns the errors.
func (m Messages) Errors() []Diagnostic {
	return slices.DeleteFunc(slices.Clone(m.Diagnostics), func(d Diagnostic) bool {
		return d.Severity != SeverityError
	})
}
