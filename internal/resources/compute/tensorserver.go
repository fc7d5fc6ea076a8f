package compute

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func (d *decoder) claimTemplates(list types.List) []manifest.VolumeClaimTemplate {
	var out []manifest.VolumeClaimTemplate
	for _, t := range decodeList[claimTemplateModel](d, list) {
		out = append(out, manifest.VolumeClaimTemplate{
			Name: t.Name.ValueString(), Size: d.quantity("volume_claim_templates", t.Size), MountPath: t.MountPath.ValueString(),
			StorageClass: t.StorageClass.ValueString(), AccessMode: t.AccessMode.ValueString(),
		})
	}
	return out
}

// followTensorServer follows what only a tensor server has.
func (m *model) followTensorServer(f *follower, before, after manifest.Compute) {
	word := func(text string) string { return text }
	followList(f, &m.Command, before.Command, after.Command, word)
	followList(f, &m.Args, before.Args, after.Args, word)
	followList(f, &m.VolumeClaimTemplates, before.VolumeClaimTemplates, after.VolumeClaimTemplates, claimTemplateOf)
}

func claimTemplateOf(t manifest.VolumeClaimTemplate) claimTemplateModel {
	size := ""
	if t.Size != nil {
		size = t.Size.String()
	}
	return claimTemplateModel{
		Name: types.StringValue(t.Name), Size: tf.QuantityOf(size), MountPath: textOrNull(t.MountPath),
		StorageClass: textOrNull(t.StorageClass), AccessMode: textOrNull(t.AccessMode),
	}
}

// last plans a replacement where a field changes that lasts as long as the
// workload, and says what a replacement does not change.
func (p *planner) last(ctx context.Context, prior objects) {
	was, err := prior.workload()
	if err != nil || was == nil {
		return
	}
	will, err := p.rendered.workload()
	if err != nil || will == nil || was.GroupVersionKind() != will.GroupVersionKind() {
		return
	}
	for _, field := range manifest.Lasting(will.GroupVersionKind()) {
		before, _, _ := unstructured.NestedFieldNoCopy(was.Object, field...)
		after, _, _ := unstructured.NestedFieldNoCopy(will.Object, field...)
		if !equality.Semantic.DeepEqual(before, after) && (!sameButSize(before, after) || p.templatesLast(ctx, will)) {
			p.replace = true
		}
	}
}

// goes is the UID of what stands where an object is planned, and is deleted
// before: the object of that name of the compute that is replaced, or what an
// operator made for it, such as the Service of a tensor server.
func (p *planner) goes(ctx context.Context, key string, obj *unstructured.Unstructured) apitypes.UID {
	if replaced := p.Replaced[key].UID; replaced != "" || len(p.Replaced) == 0 {
		return replaced
	}
	ref, err := p.Data.Cluster.RefOf(ctx, obj)
	if err != nil {
		return ""
	}
	live, err := p.Data.Cluster.Read(ctx, ref)
	if err != nil {
		return ""
	}
	for _, owner := range live.GetOwnerReferences() {
		for _, entry := range p.Replaced {
			if entry.UID == owner.UID {
				return live.GetUID()
			}
		}
	}
	return ""
}

// checkRuntime finds what does not go with the runtime.
func checkRuntime(ctx context.Context, config *model) diag.Diagnostics {
	runtime := config.Runtime.ValueString()
	switch {
	case config.Runtime.IsUnknown():
		return checkClaimTemplates(ctx, config.VolumeClaimTemplates)
	case !manifest.RunsTensorServer(runtime):
		return refuseGiven([]given{{"command", config.Command}, {"args", config.Args}, {"volume_claim_templates", config.VolumeClaimTemplates}},
			"%s is for a tensor server: leave it out, or give runtime = \"skytorch\" or \"kpu\".")
	}
	diags := refuseGiven([]given{
		{"autoscale", config.Autoscale}, {"distribute", config.Distribute}, {"manifest", config.Manifest}, {"pod_template_path", config.PodTemplatePath},
		{"selector", config.Selector}, {"endpoint", config.Endpoint}, {"image_setup", config.ImageSetup},
		{"gpu_memory", config.GPUMemory}, {"shared_memory_limit", config.SharedMemoryLimit},
		{"priority_class_name", config.PriorityClassName}, {"image_pull_policy", config.ImagePullPolicy}, {"working_dir", config.WorkingDir},
		{"queue_name", config.QueueName}, {"freeze", config.Freeze}, {"inactivity_ttl", config.InactivityTTL},
		{"logging", config.Logging}, {"allowed_serialization", config.AllowedSerialization},
		{"kubetorch_version", config.KubetorchVersion}, {"renderer_revision", config.RendererRevision},
	}, fmt.Sprintf("%%s has no place in the Compute resource of runtime %q: leave it out.", runtime))
	if isGiven(config.Replicas) && config.Replicas.ValueInt64() != 1 {
		diags.AddAttributeError(path.Root("replicas"), "Conflicting attributes",
			fmt.Sprintf("replicas is %d, but the operator of runtime %q runs one pod: leave it out, or give suspend = true for none.", config.Replicas.ValueInt64(), runtime))
	}
	diags.Append(checkOperatorVariables(ctx, config)...)
	if runtime == kind.RuntimeKPU {
		diags.Append(refuseGiven([]given{
			{"node_selector", config.NodeSelector}, {"gpu_type", config.GPUType}, {"tolerations", config.Tolerations},
			{"service_account_name", config.ServiceAccountName}, {"volumes", config.Volumes}, {"secrets", config.Secrets},
			{"volume_claim_templates", config.VolumeClaimTemplates}, {"gpu_anti_affinity", config.GPUAntiAffinity},
		}, "%s "+manifest.NoKPUField+": leave it out, or give runtime = \"skytorch\".")...)
	}
	return append(diags, checkClaimTemplates(ctx, config.VolumeClaimTemplates)...)
}

// checkOperatorVariables finds variables with which the operator's pod never becomes ready.
func checkOperatorVariables(ctx context.Context, config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, name := range slices.Sorted(maps.Keys(config.EnvVars.Elements())) {
		if why := manifest.ReservedVariable(config.Runtime.ValueString(), name); why != "" {
			at := path.Root("env_vars").AtMapKey(name)
			diags.AddAttributeError(at, "Variable of the operator", fmt.Sprintf("env_vars sets %s, %s: remove it.", name, why))
		}
	}
	for i, secret := range tf.Items[secretModel](ctx, config.Secrets) {
		if len(secret.EnvVars.Elements()) > 0 {
			at := path.Root("secrets").AtListIndex(i).AtName("env_vars")
			diags.AddAttributeError(at, "Secret variables of a tensor server",
				fmt.Sprintf("%s exposes keys of a Secret as variables, %s: leave it out.", at, manifest.NoSecretVariables))
		}
	}
	return diags
}

// given is an attribute that may be set.
type given struct {
	at    string
	value attr.Value
}

// refuseGiven is an error at each attribute that is set; why has a %s for its name.
func refuseGiven(attributes []given, why string) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, a := range attributes {
		if isFilled(a.value) {
			diags.AddAttributeError(path.Root(a.at), "Conflicting attributes", fmt.Sprintf(why, a.at))
		}
	}
	return diags
}

// checkClaimTemplates finds templates that say too little, or are named alike.
func checkClaimTemplates(ctx context.Context, list types.List) diag.Diagnostics {
	var diags diag.Diagnostics
	named := map[string]path.Path{}
	for i, t := range tf.Items[claimTemplateModel](ctx, list) {
		at := path.Root("volume_claim_templates").AtListIndex(i)
		diags.Append(checkRequired(at.AtName("name"), t.Name, "a name, such as scratch")...)
		diags.Append(checkRequired(at.AtName("size"), t.Size.StringValue, "a quantity, such as 100Gi")...)
		diags.Append(checkRequired(at.AtName("mount_path"), t.MountPath, "an absolute path, such as /data")...)
		if !isGiven(t.Name) {
			continue
		}
		if other, taken := named[t.Name.ValueString()]; taken {
			diags.AddAttributeError(at.AtName("name"), "Name given twice",
				fmt.Sprintf("%s.name is %s, which %s is named: give another name.", at, t.Name.ValueString(), other))
		}
		named[t.Name.ValueString()] = at
	}
	return diags
}
