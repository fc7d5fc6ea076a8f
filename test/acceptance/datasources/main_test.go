// Package datasources_test tests data sources, and the ephemeral resource that forwards ports.
package datasources_test

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
