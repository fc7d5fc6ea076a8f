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

// With the first variable set, this binary is no test: it sends a tensor to that address and back, and writes what came
// of it to the file that the second names. So a provisioner can use the tunnel that the run opened for it.
const (
	callVariable   = "KT_E2E_CALL"
	answerVariable = "KT_E2E_ANSWER"
)

func call(address, answer string) (code int) {
	result := probe.GRPC(context.Background(),
		probe.Endpoint{Target: address, RoundTrip: 1 << 20, Timeout: time.Minute})
	text, err := json.Marshal(result)
	if err == nil {
		err = os.WriteFile(answer, text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// answerIn reads what call wrote.
func answerIn(t *testing.T, file string) probe.Result {
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
