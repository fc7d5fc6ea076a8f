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

// valuesKey and notesKey are where the ledger and the notes are kept in the
// resource's private state.
const (
	valuesKey = "values"
	notesKey  = "notes"
)

// privateState are what is remembered of the Secret as a whole.
type privateState struct {
	// Ending says that it was being deleted when it was last looked at.
	Ending bool `json:"ending,omitempty"`
	// Matched is the UID and resource version at which its values were those of the ledger.
	Matched string `json:"matched,omitempty"`
}

// versionOf tells one writing of a Secret from all others.
func versionOf(live *unstructured.Unstructured) string {
	return string(live.GetUID()) + "/" + live.GetResourceVersion()
}

// sealerOf is the one of the run.
func sealerOf(data *tf.ProviderData) *spec.Sealer {
	if !data.Configured() {
		return spec.NewSealer()
	}
	return kube.OfRun(data.Cluster, "sealer of kt_secret", spec.NewSealer)
}

// revisions decides the entry of each key of a source.
type revisions struct {
	ledger   spec.Ledger
	shown    map[string]string // keys in state: what the last refresh saw
	creating bool
	// pinned says that values_wo_version alone decides when values change.
	pinned bool
	// bumped says that it changed.
	bumped bool
}

func revisionsOf(plan, state *model, ledger spec.Ledger, config *model, creating bool) revisions {
	return revisions{
		ledger: ledger, shown: texts(state.Keys), creating: creating,
		pinned: !config.ValuesWO.IsNull() && !plan.ValuesWOVersion.IsNull(),
		bumped: !plan.ValuesWOVersion.Equal(state.ValuesWOVersion),
	}
}

// entry is that of a value once it is applied.
func (r revisions) entry(key string, value []byte, stamp bool) spec.Entry {
	known, had := r.ledger.Values[key]
	switch {
	case r.creating:
		return r.ledger.First(key, value)
	case !had, r.pinned && r.bumped:
		return r.ledger.Next(key, value, stamp)
	case r.ledger.Same(key, value), r.keeps(key):
		return known
	default:
		return r.ledger.Next(key, value, stamp)
	}
}

// keeps says whether the value that the cluster has stays, whatever values_wo
// gives now.
func (r revisions) keeps(key string) bool {
	known, had := r.ledger.Values[key]
	return had && r.pinned && !r.bumped && r.shown[key] == known.Text
}

// planned is the attribute keys as it will be.
func (r revisions) planned(c content) types.Map {
	if c.open {
		return types.MapUnknown(types.StringType)
	}
	elements := map[string]attr.Value{}
	for _, key := range c.keys() {
		value, known := c.data[key]
		switch {
		case r.creating: // a digest would cost time, and shows nothing
			elements[key] = types.StringValue(spec.FirstText)
		case known:
			elements[key] = types.StringValue(r.entry(key, value, c.outside).Text)
		case r.keeps(key):
			elements[key] = types.StringValue(r.ledger.Values[key].Text)
		default:
			elements[key] = types.StringUnknown()
		}
	}
	return types.MapValueMust(types.StringType, elements)
}

// settle makes the entries to apply, and says which keys are not what the plan
// showed.
func (r revisions) settle(c content, plan types.Map) (map[string]spec.Entry, diag.Diagnostics) {
	var diags diag.Diagnostics
	entries := map[string]spec.Entry{}
	promised := texts(plan)
	for _, key := range c.keys() {
		entry := r.entry(key, c.data[key], c.outside)
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
	detail := fmt.Sprintf("The key %q does not have the value that the plan saw in %s, so nothing was applied. "+
		"Run the plan again.", key, c.at)
	if c.at == "values_wo" { // at its path, Terraform would print the value's line
		return diag.NewErrorDiagnostic(summary, detail+" If the value differs in every run, set values_wo_version.")
	}
	return diag.NewAttributeErrorDiagnostic(path.Root(c.at), summary, detail)
}

// toSend are the values to apply: those of the source, but for the ones that
// the cluster keeps.
func (r revisions) toSend(c content, live *unstructured.Unstructured) map[string][]byte {
	there := kube.SecretData(live)
	out := map[string][]byte{}
	for key, value := range c.data {
		out[key] = value
		if kept, ok := there[key]; ok && r.keeps(key) && r.ledger.Same(key, kept) {
			out[key] = kept
		}
	}
	return out
}

// remembered is what private state has of one Secret, in addition to [owned.Memory].
type remembered struct {
	ledger       spec.Ledger
	privateState privateState
}

func recall(ctx context.Context, private owned.PrivateReader, sealer *spec.Sealer) (remembered, diag.Diagnostics) {
	var out remembered
	var all diag.Diagnostics
	var diags diag.Diagnostics
	out.ledger, diags = owned.Load[spec.Ledger](ctx, private, valuesKey)
	all.Append(diags...)
	out.privateState, diags = owned.Load[privateState](ctx, private, notesKey)
	all.Append(diags...)
	out.ledger = out.ledger.With(sealer)
	if len(out.ledger.Seal) == 0 {
		out.ledger = spec.NewLedger(sealer)
	}
	return out, all
}

func save(ctx context.Context, private owned.PrivateWriter, r remembered) diag.Diagnostics {
	return slices.Concat(owned.Save(ctx, private, valuesKey, r.ledger), owned.Save(ctx, private, notesKey, r.privateState))
}
