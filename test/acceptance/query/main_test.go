// Package query_test tests the list resources with `terraform query`, and the adoption of the objects that it finds.
package query_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The clusters are shared by the tests of the package. Only withCRDs has the kinds of other projects.
var (
	cluster  = acctest.SharedCluster()
	withCRDs = acctest.SharedClusterWithCRDs()
)

func TestMain(m *testing.M) { os.Exit(acctest.RunTests(m, cluster, withCRDs)) }

// queries is a working directory for queries.
type queries struct {
	*acctest.CLI
}

// newQueries returns a working directory with a provider block. It skips the test if the CLI has no queries.
func newQueries(t *testing.T, provider string) queries {
	t.Helper()
	acctest.RequireTerraform(t, "1.14")
	q := queries{acctest.NewCLI(t)}
	q.Write(t, provider)
	return q
}

// list writes the configuration of a query: a list block of the type with other arguments.
func (q queries) list(t *testing.T, resourceType, arguments string) {
	t.Helper()
	text := fmt.Sprintf("list %q \"found\" {\n  provider = kt\n%s\n}\n", resourceType, arguments)
	if err := os.WriteFile(filepath.Join(q.Dir, "found.tfquery.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// found returns the display names that a query prints, and its output.
func (q queries) found(t *testing.T, resourceType, arguments string) ([]string, string) {
	t.Helper()
	q.list(t, resourceType, arguments)
	out := q.MustRun(t, "query")
	var names []string
	for line := range strings.SplitSeq(out, "\n") {
		if columns := regexp.MustCompile(`   +`).Split(line, 3); len(columns) == 3 &&
			strings.HasPrefix(columns[0], "list.") {
			names = append(names, strings.TrimSpace(columns[2]))
		}
	}
	return names, out
}
