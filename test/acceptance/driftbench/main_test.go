package driftbench_test

import (
	"os"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

var withCRDs = acctest.SharedClusterWithCRDs()

func TestMain(m *testing.M) { os.Exit(acctest.RunTests(m, withCRDs)) }
