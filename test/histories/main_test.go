// Package histories_test runs two Terraform states and another client against the same objects at the same time,
// records what they do as a history of operations, and checks with porcupine that the history is possible if the
// provider keeps its promises about ownership. `make histories` runs many.
package histories_test

import (
	"os"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

var cluster = acctest.SharedCluster()

func TestMain(m *testing.M) { os.Exit(acctest.RunTests(m, cluster)) }
