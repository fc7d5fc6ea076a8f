// Package chains_test changes resources through random declarations, A -> B -> C -> A. After each change, the plan is
// empty, and the objects are those of a resource that was created with that declaration. A sample runs with the other
// acceptance tests, and `make chains` runs many.
package chains_test

import (
	"os"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

var cluster = acctest.SharedClusterWithCRDs()

func TestMain(m *testing.M) { os.Exit(acctest.RunTests(m, cluster)) }
