package volume

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

func TestImportReadsAClaim(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claim string
		says  string
	}{
		"one of another client": {claim: boundClaim},
		"none":                  {says: "PersistentVolumeClaim ml/data does not exist.\n\nInvestigate with:"},
		"several access modes": {
			claim: strings.Replace(boundClaim, "[ReadWriteOnce]", "[ReadWriteOnce, ReadOnlyMany]", 1),
			says:  "has ReadWriteOnce, ReadOnlyMany, but a kt_volume has one access mode",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs := map[string]string{}
			if c.claim != "" {
				docs[claimsPath+"/data"] = c.claim
				docs[claimsPath] = "items: [" + c.claim + "]"
			}
			data, _ := clusterOf(t, docs)
			l := &reading{Data: data, Memory: owned.Memory{}, State: &model{
				Common: lifecycle.Common{Name: types.StringValue("data"), Namespace: types.StringValue("ml")}}}
			err := hooks{}.Import(t.Context(), l)
			if c.says != "" {
				if got := messages(l.Diags); err == nil || !strings.Contains(got, c.says) {
					t.Errorf("%v, %q, want %q", err, got, c.says)
				}
				return
			}
			if err != nil || len(l.Diags) > 0 {
				t.Fatal(err, l.Diags)
			}
			got, want := l.State, bound()
			if !got.Size.Equal(want.Size) || !got.AccessMode.Equal(
				want.AccessMode) || got.claimStatus != want.claimStatus ||
				!got.StorageClass.Equal(want.StorageClass) || !got.UID.Equal(want.UID) ||
				got.VolumeName.ValueString() != "pv-1" || !l.PrivateState.Imported || !l.MemoryChanged {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestVolumeThatKubernetesSelectedIsNoAttribute(t *testing.T) {
	t.Parallel()
	live := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(boundClaim), &live.Object); err != nil {
		t.Fatal(err)
	}
	live.SetAnnotations(map[string]string{"pv.kubernetes.io/bound-by-controller": "yes"})
	var m model
	m.observe(live)
	if !m.VolumeName.IsNull() || m.BoundVolumeName.ValueString() != "pv-1" {
		t.Errorf("volume_name %s, bound_volume_name %s", m.VolumeName, m.BoundVolumeName)
	}
}

func TestClaimInDangerIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, now, says string }{
		"lost": {"phase: Bound", "phase: Lost", "PersistentVolumeClaim ml/data has lost its volume"},
		"deleted": {"uid: u-1", `uid: u-1, deletionTimestamp: "2026-01-02T03:04:05Z"`,
			"kubectl patch persistentvolume pv-1"},
		"deleted without a volume": {"volumeName: pv-1,", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(strings.Replace(boundClaim, c.old, c.now, 1)), &live.Object); err != nil {
				t.Fatal(err)
			}
			l := reader{&reading{State: bound()}}
			l.updateStatus(l.State.claimRef(), live)
			got := messages(l.Diags)
			if l.Diags.HasError() || (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
				t.Errorf("%q, want %q", got, c.says)
			}
		})
	}
}

func TestDriftChangesOnlyTheAttributesThatDiffer(t *testing.T) {
	t.Parallel()
	quantity := func(text string) claim.Claim {
		size, err := manifest.ParseQuantity(text)
		if err != nil {
			t.Fatal(err)
		}
		return claim.Claim{Size: size}
	}
	m := bound()
	m.Size.StringValue = types.StringValue("10240Mi")
	before, after := quantity("10Gi"), quantity("10Gi")
	after.MountPath = "/data"
	if m.follow(before, after); m.Size.ValueString() != "10240Mi" || m.MountPath.ValueString() != "/data" {
		t.Errorf("size %s, mount path %s", m.Size, m.MountPath)
	}
	if m.follow(after, quantity("20Gi")); m.Size.ValueString() != "20Gi" || !m.MountPath.IsNull() {
		t.Errorf("size %s, mount path %s", m.Size, m.MountPath)
	}
}

func TestDriftOfLabels(t *testing.T) {
	t.Parallel()
	type labels = map[string]string
	for name, c := range map[string]struct{ attribute, before, after, want labels }{
		"none":    {labels{"a": "1"}, labels{"a": "1"}, labels{"a": "1"}, labels{"a": "1"}},
		"changed": {labels{"a": "1"}, labels{"a": "1"}, labels{"a": "2"}, labels{"a": "2"}},
		"added":   {nil, nil, labels{"a": "1"}, labels{"a": "1"}},
		"removed": {labels{"a": "1"}, labels{"a": "1"}, nil, nil},
		"a default of the provider": {labels{"a": "1"}, labels{"a": "1", "d": "1"}, labels{"a": "1", "d": "2"},
			labels{"a": "1"}},
		"a removed provider default": {labels{"a": "1"}, labels{"a": "1", "d": "1"}, labels{"a": "1"},
			labels{"a": "1"}},
		"configured, but never applied": {labels{"a": "1", "b": "1"}, labels{"a": "1"}, labels{"a": "1"},
			labels{"a": "1", "b": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attribute := types.MapNull(types.StringType)
			if c.attribute != nil {
				attribute = tf.TextMap(c.attribute)
			}
			followMap(&attribute, c.before, c.after)
			if !maps.Equal(tf.Texts(attribute), c.want) || attribute.IsNull() != (c.want == nil) {
				t.Errorf("%s, want %v", attribute, c.want)
			}
		})
	}
}
