package secret

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// valuesKey and statusKey are the keys of the digests and of the status in the resource's private state.
const (
	valuesKey = "values"
	statusKey = "notes"
)

// secretStatus is what is remembered of the Secret in addition to its values.
type secretStatus struct {
	// Ending is true if the Secret was being deleted at the last refresh.
	Ending bool `json:"ending,omitempty"`
	// Matched is the UID and resource version at which the values matched the digests.
	Matched string `json:"matched,omitempty"`
}

// versionOf identifies one version of a Secret.
func versionOf(live *unstructured.Unstructured) string {
	return string(live.GetUID()) + "/" + live.GetResourceVersion()
}

// sealerOf returns the sealer of the run.
func sealerOf(data *tf.ProviderData) *spec.Sealer {
	if !data.Configured() {
		return spec.NewSealer()
	}
	return kube.OfRun(data.Cluster, "sealer of kt_secret", spec.NewSealer)
}

// revisions determines the entry of each key of a source.
type revisions struct {
	digests  spec.Digests
	shown    map[string]string // keys in state, from the last refresh
	creating bool
	// versioned is true if only values_wo_version determines whether values change.
	versioned bool
	// versionChanged is true if values_wo_version changes.
	versionChanged bool
}

func revisionsOf(plan, state *model, digests spec.Digests, config *model, creating bool) revisions {
	return revisions{
		digests: digests, shown: tf.Texts(state.Keys), creating: creating,
		versioned:      !config.ValuesWO.IsNull() && !plan.ValuesWOVersion.IsNull(),
		versionChanged: !plan.ValuesWOVersion.Equal(state.ValuesWOVersion),
	}
}

// entry returns the entry of a value after it is applied.
func (r revisions) entry(key string, value []byte, stamp bool) spec.Entry {
	known, had := r.digests.Values[key]
	switch {
	case r.creating:
		return r.digests.First(key, value)
	case !had, r.versioned && r.versionChanged:
		return r.digests.Next(key, value, stamp)
	case r.digests.Same(key, value), r.isKept(key):
		return known
	default:
		return r.digests.Next(key, value, stamp)
	}
}

// isKept reports whether the value in the cluster is kept, regardless of values_wo.
func (r revisions) isKept(key string) bool {
	known, had := r.digests.Values[key]
	return had && r.versioned && !r.versionChanged && r.shown[key] == known.Text
}

// planned returns the attribute keys of the plan.
func (r revisions) planned(c content) types.Map {
	if c.unknown {
		return types.MapUnknown(types.StringType)
	}
	elements := map[string]attr.Value{}
	for _, key := range c.keys() {
		value, known := c.data[key]
		switch {
		case r.creating: // a digest would cost time without showing anything
			elements[key] = types.StringValue(spec.FirstText)
		case known:
			elements[key] = types.StringValue(r.entry(key, value, c.external).Text)
		case r.isKept(key):
			elements[key] = types.StringValue(r.digests.Values[key].Text)
		default:
			elements[key] = types.StringUnknown()
		}
	}
	return types.MapValueMust(types.StringType, elements)
}

// resolveEntries returns the entries to apply, and an error for each key that differs from the plan.
func (r revisions) resolveEntries(c content, plan types.Map) (map[string]spec.Entry, diag.Diagnostics) {
	var diags diag.Diagnostics
	entries := map[string]spec.Entry{}
	promised := tf.Texts(plan)
	for _, key := range c.keys() {
		entry := r.entry(key, c.data[key], c.external)
		if text, known := promised[key]; known && text != entry.Text {
			diags.Append(changedSincePlan(c, key))
		}
		entries[key] = entry
	}
	if plan.IsUnknown() {
		return entries, diags
	}
	for _, key := range c.keys() {
		if _, there := plan.Elements()[key]; !there {
			diags.Append(changedSincePlan(c, key))
		}
	}
	for key := range plan.Elements() {
		if _, there := entries[key]; !there {
			diags.Append(changedSincePlan(c, key))
		}
	}
	return entries, diags
}

func changedSincePlan(c content, key string) diag.Diagnostic {
	summary := "The source of the secret changed between plan and apply"
	detail := fmt.Sprintf("The key %q no longer has the value that %s had in the plan. Therefore nothing was "+
		"applied.\n\n"+
		"Next step: Run the plan again.", key, c.at)
	if c.at == "values_wo" { // with its path, Terraform would print the line of the value
		return diag.NewErrorDiagnostic(summary, detail+" If the value differs in every run, set values_wo_version.")
	}
	return diag.NewAttributeErrorDiagnostic(path.Root(c.at), summary, detail)
}

// valuesToSend returns the values to apply: those of the source, except for those that are kept in the cluster.
func (r revisions) valuesToSend(c content, live *unstructured.Unstructured) map[string][]byte {
	there := kube.SecretData(live)
	out := map[string][]byte{}
	for key, value := range c.data {
		out[key] = value
		if current, ok := there[key]; ok && r.isKept(key) && r.digests.Same(key, current) {
			out[key] = current
		}
	}
	return out
}

// privateState is what is remembered of one Secret in addition to [owned.Memory].
type privateState struct {
	digests      spec.Digests
	secretStatus secretStatus
}

func recall(ctx context.Context, private owned.PrivateReader, sealer *spec.Sealer) (privateState, diag.Diagnostics) {
	var out privateState
	var all diag.Diagnostics
	var diags diag.Diagnostics
	out.digests, diags = owned.Load[spec.Digests](ctx, private, valuesKey)
	all.Append(diags...)
	out.secretStatus, diags = owned.Load[secretStatus](ctx, private, statusKey)
	all.Append(diags...)
	out.digests = out.digests.WithSealer(sealer)
	if len(out.digests.Seal) == 0 {
		out.digests = spec.NewDigests(sealer)
	}
	return out, all
}

func save(ctx context.Context, private owned.PrivateWriter, r privateState) diag.Diagnostics {
	return slices.Concat(owned.Save(ctx, private, valuesKey, r.digests),
		owned.Save(ctx, private, statusKey, r.secretStatus))
}
