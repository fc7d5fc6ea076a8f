package provider_test

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/provider"
)

// TestProcessIsQuietUnlessALogIsWanted changes settings of the process, so it is not parallel.
func TestProcessIsQuietUnlessALogIsWanted(t *testing.T) {
	for _, test := range []struct {
		name, set, value string
		debugger         bool
		wantLog          string
		wantGC           int
	}{
		{name: "by default", wantLog: "off", wantGC: 150},
		{name: "with a log", set: "TF_LOG_PROVIDER", value: "debug", wantLog: "", wantGC: 150},
		{name: "with a debugger", debugger: true, wantLog: "", wantGC: 150},
		{name: "with GOGC", set: "GOGC", value: "77", wantLog: "off", wantGC: 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, variable := range append(os.Environ(), "GOGC=", "TF_LOG_SDK=", "TF_LOG_SDK_PROTO=",
				"TF_LOG_SDK_FRAMEWORK=") {
				name, _, _ := strings.Cut(variable, "=")
				if name == "GOGC" || strings.HasPrefix(name, "TF_LOG") {
					t.Setenv(name, "") // restores the variable after the test
					if err := os.Unsetenv(name); err != nil {
						t.Fatal(err)
					}
				}
			}
			if test.set != "" {
				t.Setenv(test.set, test.value)
			}
			before := debug.SetGCPercent(100)
			defer debug.SetGCPercent(before)
			provider.PrepareProcess(test.debugger)
			for _, logger := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK"} {
				if got := os.Getenv(logger); got != test.wantLog {
					t.Errorf("%s is %q, want %q", logger, got, test.wantLog)
				}
			}
			if got := debug.SetGCPercent(100); got != test.wantGC {
				t.Errorf("the garbage collection starts at %d %%, want %d %%", got, test.wantGC)
			}
		})
	}
}
