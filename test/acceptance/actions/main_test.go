// Package actions_test tests the actions.
package actions_test

import (
	"os"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The clusters are shared by the tests of the package. Only withCRDs has the
// kinds of Knative Serving, KubeRay, JobSet, LeaderWorkerSet, the training operator,
// Kueue and Kubetorch.
var (
	cluster  = acctest.SharedCluster()
	withCRDs = acctest.SharedClusterWithCRDs()
)

func TestMain(m *testing.M) { os.Exit(acctest.RunTests(m, cluster, withCRDs)) }

// newCLI returns a CLI that supports actions.
func newCLI(t *testing.T) *acctest.CLI {
	t.Helper()
	acctest.RequireTerraform(t, "1.14")
	return acctest.NewCLI(t)
}
