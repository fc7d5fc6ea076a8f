// Package ecosystem_test runs beside the real controllers of the kinds that a
// compute can be: `make test-ecosystem`.
package ecosystem_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// shared is the cluster of all tests of the package; nil without KT_ECOSYSTEM.
var shared *acctest.Ecosystem

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("KT_ECOSYSTEM") == "" {
		return m.Run()
	}
	var err error
	if shared, err = acctest.StartEcosystem(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := shared.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the ecosystem:", err)
		return 1
	}
	return code
}

// ecosystem is the shared cluster. Without KT_ECOSYSTEM it skips the test.
func ecosystem(t *testing.T) *acctest.Ecosystem {
	t.Helper()
	if shared == nil {
		t.Skip("KT_ECOSYSTEM is not set")
	}
	return shared
}
