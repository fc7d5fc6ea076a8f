package secret

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	kubeconfig "github.com/ktdev/terraform-provider-kt/internal/kube/config"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// After a lost response, state has no UID. The apply sets it, which requires that the plan is unknown rather than
// null.
func TestUIDIsUnknownIfTheApplySetsIt(t *testing.T) {
	t.Parallel()
	none, known := types.StringNull(), types.StringValue("u")
	secret := func(uid types.String, key, label string) model {
		return model{
			Common: lifecycle.Common{UID: uid, Manifests: tf.TextMap(map[string]string{"Secret/ml/token": label})},
			Keys:   tf.TextMap(map[string]string{"KEY": key}),
		}
	}
	for name, c := range map[string]struct {
		state, plan model
		creating    bool
		want        types.String
	}{
		"creation":                    {model{}, secret(none, "1", "a"), true, types.StringUnknown()},
		"nothing changes":             {secret(none, "1", "a"), secret(none, "1", "a"), false, none},
		"a value changes":             {secret(none, "1", "a"), secret(none, "2", "a"), false, types.StringUnknown()},
		"a label changes":             {secret(none, "1", "a"), secret(none, "1", "b"), false, types.StringUnknown()},
		"a value changes, with a UID": {secret(known, "1", "a"), secret(known, "2", "a"), false, known},
		"nothing changes, with a UID": {secret(known, "1", "a"), secret(known, "1", "a"), false, known},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := planner{planning: &planning{Creating: c.creating, State: &c.state, Plan: &c.plan}}
			if got := p.UID(p.State.UID, !p.isSecretUnchanged()); !got.Equal(c.want) {
				t.Errorf("uid is %s, want %s", got, c.want)
			}
		})
	}
}

// The revisions of a new Secret start at 1 again. Equal texts would hide a new value from restart_triggers.
func TestReplacementContinuesTheRevisionsOfChangedValues(t *testing.T) {
	t.Parallel()
	data := func() *tf.ProviderData { // of one walk of the graph
		return &tf.ProviderData{Run: run.New(t.Context(), kube.NewCluster(t.Context(), kubeconfig.Config{}), nil)}
	}
	before := spec.Digests{}.WithSealer(spec.NewSealer())
	before.Values["same"] = before.Next("same", []byte("1"), false)
	before.Values["changed"] = before.Next("changed", []byte("1"), false)
	before.Values["changed before"] = spec.Entry{Revision: 2, Text: "revision 2"}
	id, c := types.StringValue("ml/token"), content{data: map[string][]byte{
		"same": []byte("1"), "changed": []byte("2"), "changed before": []byte("3"), "new": []byte("4")}}
	planned := func(data *tf.ProviderData, replaced privateState) *planner {
		p := &planner{planning: &planning{Creating: true, State: &model{}, Config: &model{}, Data: data,
			Plan: &model{Common: lifecycle.Common{ID: id}}, ReplacedPrivateState: replaced}}
		p.openPrivateState()
		p.Plan.Keys = p.revisions().planned(c)
		p.setContinued()
		return p
	}
	plan := planned(data(), privateState{Digests: before})
	one := types.StringValue("revision 1")
	want := types.MapValueMust(types.StringType, map[string]attr.Value{"same": one, "changed": types.StringUnknown(),
		"changed before": one, "new": one})
	if !plan.Plan.Keys.Equal(want) {
		t.Errorf("the plan has %s, want %s", plan.Plan.Keys, want)
	}
	apply := data()
	continued(apply.Run, id, plan.PrivateState.Continued) // as the deletion
	again := planned(apply, privateState{})
	if !again.Plan.Keys.Equal(want) {
		t.Errorf("the plan in the apply has %s, want %s", again.Plan.Keys, want)
	}
	var created privateState
	created.open(apply)
	created.continueWith(continued(apply.Run, id, nil))
	r := revisions{digests: created.Digests, creating: true, versioned: true, versionChanged: true}
	entries, diags := r.resolveEntries(c, want)
	if diags.HasError() || entries["changed"].Text != "revision 2" || entries["same"].Text != "revision 1" {
		t.Errorf("the apply has %v: %v", entries, diags)
	}
}

// After the deletion, an Opaque Secret with this name would be created, which the kubelet does not use for pulls.
func TestSecretOfAnotherTypeIsLeftToItsClient(t *testing.T) {
	t.Parallel()
	for of, attribute := range map[string]string{"kubernetes.io/dockerconfigjson": "image_pull_secrets",
		"kubernetes.io/dockercfg": "image_pull_secrets", "kubernetes.io/tls": "expose.tls_secret_name",
		"kubernetes.io/basic-auth": "secrets", opaque: ""} {
		live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "type": of,
			"immutable": of == opaque, "data": map[string]any{"TOKEN": "MQ=="}}}
		live.SetName("token")
		live.SetNamespace("ml")
		server := kubetest.NewServer(t)
		server.Put(tokenPath, live)
		for _, creating := range []bool{true, false} {
			p := &planner{planning: &planning{Data: dataOf(t, server), Plan: token("2"), Config: token("2"),
				State: token("1"), Creating: creating, Memory: func() owned.Memory { return nil },
				Replaced: owned.Memory{"Secret/ml/token": {UID: "former"}}, // so the Secret is read
				Creation: func() *owned.Creation { return &owned.Creation{Adopt: true} }}}
			p.Plan.AdoptExisting = types.BoolValue(true)
			p.PrivateState.open(p.Data)
			p.gather(t.Context())
			p.object = live
			p.dryRun(t.Context())
			if len(p.Diags) != 1 {
				t.Fatal(of, creating, p.Diags)
			}
			got := p.Diags[0].Detail()
			advice := "Leave the Secret to the client that created it, and name it in " + attribute + " of kt_compute."
			if strings.Contains(got, advice) != (of != opaque) ||
				strings.Contains(got, "kubectl delete") != (of == opaque && creating) {
				t.Errorf("%s, creation %t: %s", of, creating, got)
			}
		}
	}
}

const tokenPath = "/api/v1/namespaces/ml/secrets/token"

// dataOf returns the provider data for the cluster of a server.
func dataOf(t *testing.T, server *kubetest.Server) *tf.ProviderData {
	t.Helper()
	settings := kubeconfig.Config{Host: server.URL, Token: "x",
		Env: kubeconfig.Env{Getenv: func(string) string { return "" }}}
	cluster := kube.NewCluster(t.Context(), settings).WithClock(&kubetest.Clock{})
	return &tf.ProviderData{Run: run.New(t.Context(), cluster, nil)}
}

// token returns a secret with one value.
func token(value string) *model {
	return config(func(m *model) {
		m.Common = lifecycle.Common{Name: types.StringValue("token"), Namespace: types.StringValue("ml"),
			ID: types.StringValue("ml/token"), Manifests: types.MapUnknown(types.StringType)}
		m.Values = tf.TextMap(map[string]string{"TOKEN": value})
	})
}
