package volume

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func TestChangeOfAVolumeIsAppliedReplacesItOrIsRejected(t *testing.T) {
	t.Parallel()
	text := types.StringValue
	for name, c := range map[string]struct {
		state, plan func(*model)
		resizes     bool
		replaces    string   // attribute
		rejects     string   // attribute
		errors      []string // parts of the error
	}{
		"no change":                {},
		"the size in another unit": {plan: func(m *model) { m.Size = tf.QuantityOf("10240Mi") }},
		"growth":                   {plan: func(m *model) { m.Size = tf.QuantityOf("20Gi") }, resizes: true},
		"growth that the class does not allow": {
			state:   func(m *model) { m.StorageClass = text("fixed") },
			plan:    func(m *model) { m.Size = tf.QuantityOf("20Gi") },
			resizes: true, rejects: "size",
			errors: []string{"The volume cannot grow", "has 10Gi and cannot grow to 20Gi",
				"provisioner disk.example.com", "kubectl patch storageclass fixed", `Set size = "10Gi"`},
		},
		"growth without the class": {
			state:   func(m *model) { m.StorageClass = text("gone") },
			plan:    func(m *model) { m.Size = tf.QuantityOf("20Gi") },
			resizes: true, rejects: "size", errors: []string{`StorageClass "gone" no longer exists`},
		},
		"growth of a claim without a class": {
			state:   func(m *model) { m.StorageClass = text("") },
			plan:    func(m *model) { m.Size = tf.QuantityOf("20Gi") },
			resizes: true, rejects: "size", errors: []string{"it has no storage class"},
		},
		"cancelled growth": {
			state:   func(m *model) { m.Size = tf.QuantityOf("20Gi") },
			plan:    func(m *model) { m.Size = tf.QuantityOf("15Gi") },
			resizes: true,
		},
		"cancelled growth, to the capacity": {
			state:   func(m *model) { m.Size = tf.QuantityOf("20Gi") },
			plan:    func(m *model) { m.Size = tf.QuantityOf("10Gi") },
			rejects: "size", errors: []string{"A volume cannot shrink", "requests 20Gi and has 10Gi"},
		},
		"a smaller size": {
			plan: func(m *model) { m.Size = tf.QuantityOf("5Gi") }, rejects: "size",
			errors: []string{"A volume cannot shrink", "cannot reduce the size of a volume to 5Gi", `Set size = "10Gi"`,
				"terraform destroy"},
		},
		"a size that is not known yet": {
			plan: func(m *model) { m.Size.StringValue = types.StringUnknown() }, resizes: true,
		},
		"another size of an empty claim": {
			state: pending, plan: func(m *model) { m.Size = tf.QuantityOf("5Gi") }, replaces: "size",
		},
		"an unknown size of an empty claim": {
			state: pending, plan: func(m *model) { m.Size.StringValue = types.StringUnknown() }, replaces: "size",
		},
		"an unknown size of a protected empty claim": {
			state: func(m *model) { pending(m); m.DeletionProtection = types.BoolValue(true) },
			plan:  func(m *model) { m.Size.StringValue = types.StringUnknown() }, resizes: true,
		},
		"an unknown class of a protected empty claim": {
			state: func(m *model) { pending(m); m.DeletionProtection = types.BoolValue(true) },
			plan:  func(m *model) { m.StorageClass = types.StringUnknown() },
		},
		"another size before the status is known": {
			state: func(m *model) { m.claimStatus = claimStatus{} },
			plan:  func(m *model) { m.Size = tf.QuantityOf("20Gi") }, rejects: "size",
			errors: []string{"The claim is not bound yet", `restore size = "10Gi"`},
		},
		"another access mode": {
			plan: func(m *model) { m.AccessMode = text("ReadWriteMany") }, rejects: "access_mode",
			errors: []string{"The data of the volume would be lost",
				`has the access mode "ReadWriteOnce", which is immutable and cannot be changed to "ReadWriteMany"`,
				"terraform destroy -refresh=false"},
		},
		"another class": {
			plan: func(m *model) { m.StorageClass = text("fixed") }, rejects: "storage_class",
			errors: []string{`storage class "standard"`, `"fixed"`},
		},
		"another class of an empty claim": {
			state: pending, plan: func(m *model) { m.StorageClass = text("fixed") }, replaces: "storage_class",
		},
		"an unknown class of an empty claim": {
			state: pending, plan: func(m *model) { m.StorageClass = types.StringUnknown() }, replaces: "storage_class",
		},
		"a class that is not known yet": {plan: func(m *model) { m.StorageClass = types.StringUnknown() }},
		"another name": {
			plan: func(m *model) { m.Name = text("models") }, rejects: "name",
			errors: []string{`PersistentVolumeClaim ml/data has the name "data"`},
		},
		"another namespace": {plan: func(m *model) { m.Namespace = text("prod") }, rejects: "namespace"},
		"the bound volume":  {plan: func(m *model) { m.VolumeName = text("pv-1") }},
		"another volume": {plan: func(m *model) { m.VolumeName = text("pv-2") }, rejects: "volume_name",
			errors: []string{"(none)", `"pv-2"`}},
		"another volume of an empty claim": {state: pending, plan: func(m *model) { m.VolumeName = text("pv-2") },
			replaces: "volume_name"},
		"mutable attributes": {plan: func(m *model) {
			m.MountPath, m.WaitForBound = text("/data"), types.BoolValue(true)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := boundVolume()
			if c.state != nil {
				c.state(state)
			}
			plan := *state
			if c.plan != nil {
				c.plan(&plan)
			}
			data, _ := clusterOf(t, classes("standard provisioner: disk.example.com, allowVolumeExpansion: true",
				"fixed provisioner: disk.example.com"))
			p := planner{planning: &planning{Data: data, Plan: &plan, State: state, Config: &plan}, before: state}
			p.checkImmutable()
			p.resize(t.Context())
			var replaces string
			if len(p.Replace) > 0 {
				replaces = p.Replace[0].String()
			}
			if p.resizes != c.resizes || replaces != c.replaces || len(p.Replace) > 1 {
				t.Errorf("resizes: %t, replaces: %s", p.resizes, p.Replace)
			}
			got := messages(p.Diags)
			if p.Diags.HasError() != (c.rejects != "") {
				t.Fatalf("diagnostics: %s", got)
			}
			for _, want := range c.errors {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in: %s", want, got)
				}
			}
			if c.rejects != "" && !slices.Equal(paths(p.Diags), []string{c.rejects}) {
				t.Errorf("errors at %q, want one at %q", paths(p.Diags), c.rejects)
			}
		})
	}
}

// pending sets the status of a claim that was never bound.
func pending(m *model) {
	m.claimStatus = claimStatus{Phase: types.StringValue("Pending"), Capacity: types.StringNull(),
		BoundVolumeName: types.StringNull()}
}
