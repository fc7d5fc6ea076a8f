// Package failures_test tests failures and interruptions of applies, waits and deletions.
package failures_test

import (
	"os"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// cluster is shared by the tests of the package.
var cluster = acctest.SharedCluster()

func TestMain(m *testing.M) { os.Exit(acctest.RunTests(m, cluster)) }
