package owned

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// kubectl takes "service" for a core Service, which a Knative Service has, too.
func TestCommandThatDeletesAKnativeServiceNamesItsGroup(t *testing.T) {
	t.Parallel()
	knative, ok := kind.Of(schema.GroupKind{Group: kind.KnativeGroup, Kind: "Service"})
	if !ok {
		t.Fatal("there is no kind of Knative Services")
	}
	ref := kube.Ref{Kind: knative, Namespace: "ml", Name: "x"}
	memory := Memory{"Service/ml/x": {UID: "another"}}
	recognized, err := memory.Recognize("Service/ml/x", ref, live(kube.Manager), "kt_compute ml/x")
	for name, text := range map[string]string{
		"a deletion": OtherObjectWarning(memory, "Service/ml/x", ref, live(kube.Manager), nil)[0].Detail(),
		"a refresh":  recognized[0].Detail(),
		"a takeover": Forecast{Ref: ref}.immutableError().Detail(),
	} {
		if want := "kubectl -n ml delete services.serving.knative.dev x"; !strings.Contains(text, want) {
			t.Errorf("%s (%v) does not show %q:\n%s", name, err, want, text)
		}
	}
}
