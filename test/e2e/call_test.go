package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
)

// If callVariable is set, this binary runs no tests. It sends a tensor to the address in callVariable and back, and
// writes the result to the file in resultVariable. A provisioner can therefore use the port-forward of its run.
const (
	callVariable   = "KT_E2E_CALL"
	resultVariable = "KT_E2E_RESULT"
)

func call(address, file string) (code int) {
	result := probe.GRPC(context.Background(),
		probe.Endpoint{Target: address, RoundTrip: 1 << 20, Timeout: time.Minute})
	text, err := json.Marshal(result)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// resultIn reads the result that call wrote.
func resultIn(t *testing.T, file string) probe.Result {
	t.Helper()
	var result probe.Result
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}
