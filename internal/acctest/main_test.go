package acctest_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// cluster is shared by all tests of the package; nil without TF_ACC.
var cluster *acctest.Cluster

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
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the dev cluster:", err)
		return 1
	}
	return code
}
