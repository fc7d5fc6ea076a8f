package acctest_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// cluster is shared by all tests of the package; nil without TF_ACC.
var cluster *acctest.Cluster

// withCRDs has the kinds of Knative Serving, KubeRay, JobSet, the training
// operator, Kueue and Kubetorch, none of which the other cluster has. Only the
// tests that ask for it start it.
var withCRDs = acctest.NewLazyCluster(func() (*acctest.Cluster, error) { return acctest.StartClusterWithCRDs() })

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("TF_ACC") == "" {
		return m.Run()
	}
	var err error
	if cluster, err = acctest.StartCluster(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := errors.Join(ecosystem.stop(), withCRDs.Stop(), cluster.Stop()); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the dev clusters:", err)
		return 1
	}
	return code
}

// ownCluster starts a dev cluster with one node for a single test, for what is of
// a whole cluster. It goes with the test.
func ownCluster(t *testing.T) *acctest.Cluster {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("TF_ACC is not set")
	}
	alone, err := acctest.StartCluster("--node", "name=cpu-0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := alone.Stop(); err != nil {
			t.Error(err)
		}
	})
	return alone
}
