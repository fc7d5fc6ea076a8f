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

func TestImportSetsTheAttributesFromTheClaim(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claim   string
		message string
	}{
		"a claim of another client": {claim: boundClaim},
		"no claim":                  {message: "PersistentVolumeClaim ml/data does not exist.\n\nInvestigate with:"},
		"several access modes": {
			claim:   strings.Replace(boundClaim, "[ReadWriteOnce]", "[ReadWriteOnce, ReadOnlyMany]", 1),
			message: "has ReadWriteOnce, ReadOnlyMany, but a kt_volume has one access mode",
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
			r := &reading{Data: data, Memory: owned.Memory{}, State: &model{
				Common: lifecycle.Common{Name: types.StringValue("data"), Namespace: types.StringValue("ml")}}}
			err := hooks{}.Import(t.Context(), r)
			if c.message != "" {
				if got := messages(r.Diags); err == nil || !strings.Contains(got, c.message) {
					t.Errorf("%v, %q, want %q", err, got, c.message)
				}
				return
			}
			if err != nil || len(r.Diags) > 0 {
				t.Fatal(err, r.Diags)
			}
			got, want := r.State, boundVolume()
			if !got.Size.Equal(want.Size) || !got.AccessMode.Equal(want.AccessMode) ||
				got.claimStatus != want.claimStatus ||
				!got.StorageClass.Equal(want.StorageClass) || !got.UID.Equal(want.UID) ||
				got.VolumeName.ValueString() != "pv-1" || !r.PrivateState.Imported || len(r.Memory) != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestVolumeNameIsNullIfKubernetesSelectedTheVolume(t *testing.T) {
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

func TestPossibleLossOfDataIsReported(t *testing.T) {
	t.Parallel()
	const deleted = `uid: u-1, deletionTimestamp: "2026-01-02T03:04:05Z"`
	for name, c := range map[string]struct{ old, replacement, volume, message string }{
		"lost":          {"phase: Bound", "phase: Lost", "pv-1", "PersistentVolumeClaim ml/data has lost its volume"},
		"being deleted": {"uid: u-1", deleted, "pv-1", "kubectl patch persistentvolume pv-1 -p '{"},
		// Kubernetes does not validate the name, and whoever may edit the claim can set it.
		"being deleted, with a command as its volume": {"uid: u-1", deleted, `"x;reboot"`,
			"kubectl patch persistentvolume 'x;reboot' -p '{"},
		"not bound": {"volumeName: pv-1,", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := &unstructured.Unstructured{}
			text := strings.Replace(boundClaim, c.old, c.replacement, 1)
			text = strings.Replace(text, "volumeName: pv-1", "volumeName: "+c.volume, 1)
			if err := yaml.Unmarshal([]byte(text), &live.Object); err != nil {
				t.Fatal(err)
			}
			r := reader{&reading{State: boundVolume()}}
			r.updateStatus(r.State.claimRef(), live)
			got := messages(r.Diags)
			if r.Diags.HasError() || (got == "") != (c.message == "") || !strings.Contains(got, c.message) {
				t.Errorf("%q, want %q", got, c.message)
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
	m := boundVolume()
	m.Size.StringValue = types.StringValue("10240Mi")
	before, after := quantity("10Gi"), quantity("10Gi")
	after.MountPath = "/data"
	m.setChanged(t.Context(), before, after)
	if m.Size.ValueString() != "10240Mi" || m.MountPath.ValueString() != "/data" {
		t.Errorf("size %s, mount path %s", m.Size, m.MountPath)
	}
	if m.setChanged(t.Context(), after, quantity("20Gi")); m.Size.ValueString() != "20Gi" || !m.MountPath.IsNull() {
		t.Errorf("size %s, mount path %s", m.Size, m.MountPath)
	}
}

func TestDriftOfLabelsChangesTheAttribute(t *testing.T) {
	t.Parallel()
	type labels = map[string]string
	for name, c := range map[string]struct{ attribute, before, after, want labels }{
		"unchanged": {labels{"a": "1"}, labels{"a": "1"}, labels{"a": "1"}, labels{"a": "1"}},
		"changed":   {labels{"a": "1"}, labels{"a": "1"}, labels{"a": "2"}, labels{"a": "2"}},
		"added":     {nil, nil, labels{"a": "1"}, labels{"a": "1"}},
		"removed":   {labels{"a": "1"}, labels{"a": "1"}, nil, nil},
		"a changed default of the provider": {labels{"a": "1"}, labels{"a": "1", "d": "1"}, labels{"a": "1", "d": "2"},
			labels{"a": "1"}},
		"a removed default of the provider": {labels{"a": "1"}, labels{"a": "1", "d": "1"}, labels{"a": "1"},
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
			tf.SetChangedEntries(&attribute, c.before, c.after)
			if !maps.Equal(tf.Texts(attribute), c.want) || attribute.IsNull() != (c.want == nil) {
				t.Errorf("%s, want %v", attribute, c.want)
			}
		})
	}
}
