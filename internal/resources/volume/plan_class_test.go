package volume

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func TestStorageClassOfANewVolumeIsSelectedAtApplyUnlessConfigured(t *testing.T) {
	t.Parallel()
	const (
		block = "provisioner: ebs.csi.aws.com, allowVolumeExpansion: true"
		nfs   = "provisioner: nfs.csi.k8s.io"
		efs   = "provisioner: efs.csi.aws.com"
		local = "provisioner: rancher.io/local-path"
	)
	null, unknown, text := types.StringNull(), types.StringUnknown(), types.StringValue
	none := func(*model) {}
	for name, c := range map[string]struct {
		docs    map[string]string // nil if the configuration of the provider is unknown
		config  func(*model)
		want    types.String
		atApply bool // selected again at apply, and therefore unknown in the plan
		warning string
		err     string // instead of a warning
	}{
		"the default class": {docs: classes("standard "+block, "nfs "+nfs), config: none, want: text("standard"),
			atApply: true},
		"a shared class": {docs: classes("standard "+block, "nfs "+nfs), config: shared, want: text("nfs"),
			atApply: true},
		"one of several shared classes": {
			docs: classes("standard "+block, "nfs "+nfs, "efs-sc "+efs), config: shared, want: text("efs-sc"),
			atApply: true,
			warning: "several classes can share volumes: efs-sc (provisioner efs.csi.aws.com), nfs (provisioner " +
				"nfs.csi.k8s.io). None of them is the default class, so the apply selects the first by name, " +
				`"efs-sc".`,
		},
		"the default of several shared classes": {
			docs: classes("standard "+nfs, "efs-sc "+efs), config: shared, want: text("standard"), atApply: true,
		},
		"a configured class":   {docs: classes("standard "+block, "nfs "+nfs), config: class("nfs"), want: text("nfs")},
		"no class, configured": {docs: classes("standard " + block), config: class(""), want: text("")},
		"a static volume": {docs: classes("standard " + block),
			config: func(m *model) { m.VolumeName = text("pv-1") }, want: text("")},
		"an unknown provider": {config: none, want: unknown},
		"a configured class with an unknown provider": {
			config: class("nfs"), want: text("nfs"),
		},
		"an unknown access mode": {
			docs: classes("standard " + block), config: func(m *model) { m.AccessMode = unknown }, want: unknown,
		},
		"a configured class that the run may create": {
			docs: classes("nfs " + nfs), config: class("fast"), want: text("fast"),
			warning: `The cluster has no StorageClass "fast"`,
		},
		"no default class": {
			docs: classes("nfs " + nfs), config: none, want: unknown, atApply: true,
			warning: "the cluster has no default StorageClass.\n\nNext step: Set storage_class to one of these: nfs",
		},
		"neither a default nor a shared class": {
			docs: classes("fixed " + block), config: shared, want: unknown, atApply: true,
			warning: "no default StorageClass, nor one of a provisioner that is known to share volumes, which " +
				"ReadWriteMany requires.\n\nNext step: Create a suitable StorageClass",
		},
		"without permission to list classes": {
			docs: map[string]string{classesPath: forbidden}, config: none, want: unknown,
			warning: "Kubernetes selects the default storage class of the cluster",
		},
		"a configured class without permission to list classes": {
			docs: map[string]string{classesPath: forbidden}, config: class("nfs"), want: text("nfs"),
		},
		"a class that cannot be shared": {
			docs: classes("standard "+block, "other "+local, "large "+block), config: shared, want: unknown,
			atApply: true,
			err: `Volumes of the default StorageClass "standard" (provisioner ebs.csi.aws.com) can be written from ` +
				"one node at a time, and the cluster has no class of a provisioner that is known to share " +
				"volumes.\n\nNext step: Set storage_class to one of these: other (provisioner rancher.io/local-path).",
		},
		"a configured class that cannot be shared": {
			docs: classes("standard "+nfs, "fast "+block), config: func(m *model) {
				shared(m)
				class("fast")(m)
			}, want: text("fast"),
			warning: "Known classes with shared volumes: standard (provisioner nfs.csi.k8s.io, the default).",
		},
		"directories of a node": {
			docs: classes("standard " + local), config: shared, want: text("standard"), atApply: true,
			warning: "written from one node at a time",
		},
		"a class that waits for a pod": {
			docs: classes("standard " + block + ", volumeBindingMode: WaitForFirstConsumer"),
			config: func(m *model) {
				m.WaitForBound = types.BoolValue(true)
			},
			want: text("standard"), atApply: true,
			warning: `StorageClass "standard" provides a volume only when a pod uses it`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := &tf.ProviderData{Unknown: true}
			if c.docs != nil {
				data, _ = clusterOf(t, c.docs)
			}
			config := &model{AccessMode: text("ReadWriteOnce"), StorageClass: null, VolumeName: null}
			c.config(config)
			plan := *config
			p := planner{planning: &planning{Data: data, Plan: &plan, Config: config, State: &model{}, Creating: true}}
			p.setImmutable(t.Context())
			if !plan.StorageClass.Equal(c.want) {
				t.Errorf("storage class %s, want %s", plan.StorageClass, c.want)
			}
			p.setComputed()
			if atApply := plan.StorageClass.IsUnknown() && p.selectsAtApply; atApply != c.atApply {
				t.Errorf("selected at apply: %t, storage class %s", atApply, plan.StorageClass)
			}
			got := messages(p.Diags)
			if p.Diags.HasError() != (c.err != "") || (got == "") != (c.warning+c.err == "") ||
				!strings.Contains(got, c.warning+c.err) {
				t.Errorf("diagnostics %q, want a warning that contains %q or an error that contains %q", got, c.warning,
					c.err)
			}
		})
	}
}

// class returns a change that sets storage_class.
func class(name string) func(*model) {
	return func(m *model) { m.StorageClass = types.StringValue(name) }
}

// shared sets an access mode that requires a class with shared volumes.
func shared(m *model) { m.AccessMode = types.StringValue("ReadWriteMany") }

func TestOmittedImmutableAttributesKeepTheirValues(t *testing.T) {
	t.Parallel()
	null := types.StringNull()
	config := &model{AccessMode: null, StorageClass: null, VolumeName: null}
	state := boundVolume()
	p := planner{planning: &planning{Plan: &model{}, Config: config, State: state}, before: state}
	p.setImmutable(t.Context())
	if got := p.Plan; !got.AccessMode.Equal(state.AccessMode) || !got.StorageClass.Equal(state.StorageClass) ||
		!got.VolumeName.IsNull() {
		t.Errorf("%s, %s, %s", got.AccessMode, got.StorageClass, got.VolumeName)
	}
	p = planner{planning: &planning{Plan: &model{}, Config: config, State: &model{}, Creating: true}}
	p.setImmutable(t.Context())
	if p.Plan.AccessMode.ValueString() != "ReadWriteMany" {
		t.Errorf("the default access mode is %s", p.Plan.AccessMode)
	}
}
