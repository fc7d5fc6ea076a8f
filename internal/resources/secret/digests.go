package secret

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// privateState is what is remembered of one Secret in addition to [owned.Memory].
type privateState struct {
	Digests spec.Digests `json:"digests"`
	// Matched is the version of the Secret, in the format of versionOf, in which the values matched the digests.
	Matched string `json:"matched,omitempty"`
	// History is [kube.CreationHistory] of that version: the end of a creation changes the version, but not the values.
	History string `json:"history,omitempty"`
	// Continued are the keys of a planned creation that begin with revision 2. They have another value than in the
	// Secret that is deleted before, so that the same text would hide the change from restart_triggers.
	Continued []string `json:"continued,omitempty"`
}

// open prepares the digests, which are empty for a new Secret. They then differ from those that were loaded, so that a
// refresh saves them.
func (s *privateState) open(data *tf.ProviderData) {
	s.Digests = s.Digests.WithSealer(sealerOf(data))
}

// continued returns [privateState.Continued] of the creation of an ID, as the first call of a run passes it. That is
// the deletion of the former Secret, which receives the private state of the plan. The plan in the apply and the
// creation receive nothing of the former Secret.
func continued(r *run.Run, id types.String, planned []string) []string {
	return run.Once(r, "continued kt_secret "+id.ValueString(), func() []string { return planned })
}

// continueWith prepares the digests of a creation for the keys that begin with revision 2.
func (s *privateState) continueWith(keys []string) {
	for _, key := range keys {
		s.Digests.Values[key] = spec.Entry{Revision: 1, Text: spec.FirstText} // without a digest, every value differs
	}
}

// match records that the values of live match the digests.
func (s *privateState) match(live *unstructured.Unstructured) {
	history, err := kube.CreationHistory(live)
	if err != nil {
		history = "" // only the version is compared
	}
	s.Matched, s.History = versionOf(live), history
}

// matches reports whether live, or its metadata, is as when its values matched the digests.
func (s privateState) matches(live *unstructured.Unstructured) bool {
	switch {
	case s.Matched == "":
		return false
	case s.Matched == versionOf(live):
		return true
	case s.History == "", live.GetDeletionTimestamp() != nil,
		!strings.HasPrefix(s.Matched, string(live.GetUID())+"/"):
		return false
	}
	history, err := kube.CreationHistory(live)
	return err == nil && history == s.History
}

// versionOf returns the UID and the resource version of a Secret, separated by a slash.
func versionOf(live *unstructured.Unstructured) string {
	return string(live.GetUID()) + "/" + live.GetResourceVersion()
}

// sealerOf returns the sealer of the run, which caches digests. Without a cluster, nothing is cached between resources.
func sealerOf(data *tf.ProviderData) *spec.Sealer {
	if !data.Configured() {
		return spec.NewSealer()
	}
	return run.Once(data.Run, "sealer of kt_secret", spec.NewSealer)
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
	// versionUnknown is true if values_wo_version may change.
	versionUnknown bool
}

func revisionsOf(plan, state *model, digests spec.Digests, config *model, creating bool) revisions {
	return revisions{
		digests: digests, shown: tf.Texts(state.Keys), creating: creating,
		versioned:      !config.ValuesWO.IsNull() && !plan.ValuesWOVersion.IsNull(),
		versionChanged: !plan.ValuesWOVersion.Equal(state.ValuesWOVersion),
		versionUnknown: plan.ValuesWOVersion.IsUnknown(),
	}
}

// entry returns the entry of a value after it is applied.
func (r revisions) entry(key string, value []byte, stamp bool) spec.Entry {
	applied, exists := r.digests.Values[key]
	switch {
	case r.creating:
		return r.digests.Next(key, value, false) // the plan had nothing to compare
	case !exists, r.versioned && r.versionChanged:
		return r.digests.Next(key, value, stamp)
	case r.digests.Same(key, value), r.isKept(key):
		return applied
	default:
		return r.digests.Next(key, value, stamp)
	}
}

// isKept reports whether the value in the cluster is kept, because values_wo_version and the live value are unchanged.
func (r revisions) isKept(key string) bool {
	applied, exists := r.digests.Values[key]
	return exists && r.versioned && !r.versionChanged && r.shown[key] == applied.Text
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
		case r.creating && known && r.digests.Values[key].Text == spec.FirstText && !r.digests.Same(key, value):
			elements[key] = types.StringUnknown() // see privateState.Continued
		case r.creating: // a digest would cost time without showing anything
			elements[key] = types.StringValue(spec.FirstText)
		case r.versioned && r.versionUnknown:
			elements[key] = types.StringUnknown()
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
	if c.kept {
		return r.digests.Values, nil
	}
	entries := map[string]spec.Entry{}
	shown, texts := plan.Elements(), tf.Texts(plan)
	for _, key := range c.keys() {
		entries[key] = r.entry(key, c.data[key], c.external)
		_, exists := shown[key]
		if text, known := texts[key]; known && text != entries[key].Text || !exists && !plan.IsUnknown() {
			diags.Append(changedSincePlan(c, key))
		}
	}
	for key := range shown {
		if _, exists := entries[key]; !exists {
			diags.Append(changedSincePlan(c, key))
		}
	}
	return entries, diags
}

func changedSincePlan(c content, key string) diag.Diagnostic {
	summary := "The source of the secret changed between plan and apply"
	detail := fmt.Sprintf("The key %q no longer has the value that %s had in the plan. Therefore nothing was "+
		"applied.\n\nNext step: Run the plan again.", key, c.attribute)
	if c.attribute == "values_wo" { // with its path, Terraform would print the line of the value
		return diag.NewErrorDiagnostic(summary, detail+" If the value differs in every run, set values_wo_version.")
	}
	return diag.NewAttributeErrorDiagnostic(path.Root(c.attribute), summary, detail)
}

// valuesToSend returns the values to apply: those of the source, except for those that are kept in the cluster.
func (r revisions) valuesToSend(c content, live *unstructured.Unstructured) map[string][]byte {
	current := kube.SecretData(live)
	out := map[string][]byte{}
	for key, value := range c.data {
		out[key] = value
		if kept, exists := current[key]; exists && r.isKept(key) && r.digests.Same(key, kept) {
			out[key] = kept
		}
	}
	return out
}

// refuseUnreadable returns an error if values that the plan keeps would be replaced, because the Secret cannot be read.
func (r revisions) refuseUnreadable(c content, ref kube.Ref) diag.Diagnostics {
	for _, key := range c.keys() {
		if r.isKept(key) && !r.digests.Same(key, c.data[key]) {
			return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("values_wo_version"),
				"The values of "+ref.String()+" cannot be kept",
				fmt.Sprintf("values_wo_version is unchanged, so the update keeps the values of the cluster. To send "+
					"them again, it must read them, and the permission to get the Secret is missing. The configured "+
					"value of the key %q is another one. Nothing was applied.\n\nNext step: Grant the permission, or "+
					"change values_wo_version to apply the configured values.", key))}
		}
	}
	return nil
}
