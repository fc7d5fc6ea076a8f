// Package provider_test tests the provider block: credentials, defaults, and the requests of a run.
package provider_test

import (
	"os"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// cluster is shared by the tests of the package.
var cluster = acctest.SharedCluster()

func TestMain(m *testing.M) { os.Exit(acctest.RunTests(m, cluster)) }
