// Package ecosystem_test tests computes with the real controllers of their kinds:
// `make test-ecosystem`.
package ecosystem_test

import (
	"os"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The clusters are shared by the tests of the package.
var (
	cluster   = acctest.SharedEcosystem()
	karpenter = acctest.SharedKarpenter()
	keda      = acctest.SharedKEDA()
)

func TestMain(m *testing.M) { os.Exit(acctest.RunTests(m, cluster, karpenter, keda)) }
