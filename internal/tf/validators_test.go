package tf_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// validate returns the message of a validator for a value at a path, or "" if it is valid.
func validate(t *testing.T, v validator.String, at path.Path, value types.String) string {
	t.Helper()
	resp := validator.StringResponse{}
	v.ValidateString(t.Context(), validator.StringRequest{Path: at, ConfigValue: value}, &resp)
	var details []string
	for _, d := range resp.Diagnostics {
		details = append(details, d.Detail())
	}
	return strings.Join(details, "\n")
}

func validators() map[string]validator.String {
	return map[string]validator.String{
		"ServiceName": tf.ServiceName(), "NamespaceName": tf.NamespaceName(), "ObjectName": tf.ObjectName(),
		"LabelKey":   tf.LabelKey(),
		"LabelValue": tf.LabelValue(), "EnvVarName": tf.EnvVarName(), "AbsolutePath": tf.AbsolutePath(),
		"MountPath": tf.MountPath(),
		"GPUType":   tf.GPUType(), "ImageReference": tf.ImageReference(), "EndpointURL": tf.EndpointURL(),
		"JSONObject": tf.JSONObject(), "Timeout": tf.Timeout(),
	}
}

func TestValidatorsAcceptValidTexts(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"ServiceName":    {"a", "llm-train-2", strings.Repeat("a", 63)},
		"NamespaceName":  {"a", "0", "2024-ml", strings.Repeat("0", 63)},
		"ObjectName":     {"a", "0.b-c", strings.Repeat("a", 253)},
		"LabelKey":       {"team", "example.com/Team_1.x", strings.Repeat("a", 253) + "/" + strings.Repeat("b", 63)},
		"LabelValue":     {"", "ML_2.x-y", strings.Repeat("a", 63)},
		"EnvVarName":     {"A", "_a", "a.b-c", "HF_TOKEN2"},
		"AbsolutePath":   {"/", "/a", "/a/", "/a b/c:d"},
		"MountPath":      {"/a", "/a/", "/a b"},
		"GPUType":        {"L4", "gpu: a100"},
		"ImageReference": {"pytorch", "a/b:c", "localhost:5000/a@sha256:" + strings.Repeat("a", 64)},
		"EndpointURL":    {"svc", "svc:80", "http://svc", "https://[::1]:8443/x"},
		"JSONObject":     {"{}", " {\"a\": [1]}\n", "null", "{", ""}, // the type reports invalid JSON
		"Timeout":        {"1ms", "20m", "1h30m", "1.5h"},
	} {
		for _, text := range texts {
			if got := validate(t, validators()[name], path.Root("x"), types.StringValue(text)); got != "" {
				t.Errorf("%s of %.80q: %s", name, text, got)
			}
		}
	}
}

func TestValidatorsRejectInvalidTexts(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"ServiceName":    {"", "A", "0a", "-a", "a-", "a.b", "a_b", "ä", "a\n", strings.Repeat("a", 64)},
		"NamespaceName":  {"", "A", "-a", "a-", "a.b", strings.Repeat("a", 64)},
		"ObjectName":     {"", "A", "a..b", "a_b", ".a", strings.Repeat("a", 254)},
		"LabelKey":       {"", "a b", "/a", "a/", "a/b/c", "A_B/c", strings.Repeat("a", 64)},
		"LabelValue":     {"a b", "-a", "a/b", "a,b", strings.Repeat("a", 64)},
		"EnvVarName":     {"", "1A", "A B", "A=B", "ä"},
		"AbsolutePath":   {"", "a", "./a", "~/a", "//", "/a//b", "/a/.", "/a/../b", " /a", "/a\t"},
		"MountPath":      {"", "a", "/", "/a:b", "/a//b"},
		"GPUType":        {"", " ", "a b", "a:", ":b"},
		"ImageReference": {"", " ", "a b", "a/B", "a:b:c", "http://a", strings.Repeat("a", 64*5), "a@sha256:12"},
		"EndpointURL":    {"", "http://", "ftp://a", "a b", "http://[::1", ":80", "//a"},
		"JSONObject":     {"[]", "1", "true", `""`, "[{}]", `{"a": 1e999}`},
		"Timeout":        {"", "0", "0s", "-1s", "5", "1d", "5 minutes"},
	} {
		for _, text := range texts {
			got := validate(t, validators()[name], path.Root("x"), types.StringValue(text))
			if !strings.HasPrefix(got, "x ") || !strings.HasSuffix(got, ".") && !strings.HasSuffix(got, "?") ||
				strings.Contains(got, "\n") || len(got) > 500 {
				t.Errorf("%s of %.80q returns %q, want one sentence about x", name, text, got)
			}
		}
	}
}

func TestValidatorsIgnoreNullAndUnknown(t *testing.T) {
	t.Parallel()
	for name, v := range validators() {
		for _, value := range []types.String{types.StringNull(), types.StringUnknown()} {
			if got := validate(t, v, path.Root("x"), value); got != "" {
				t.Errorf("%s of %s: %s", name, value, got)
			}
		}
		if v.Description(t.Context()) == "" || v.MarkdownDescription(t.Context()) == "" {
			t.Errorf("%s has no description", name)
		}
	}
}

func TestMessagesNameAttributeKeyAndSuggestion(t *testing.T) {
	t.Parallel()
	labels := path.Root("labels")
	for want, got := range map[string]string{
		`labels["team"] is "a b", but must be`: validate(t, tf.LabelValue(), labels.AtMapKey("team"),
			types.StringValue("a b")),
		`a key of labels is "a b", but must be`: validate(t, tf.LabelKey(), labels.AtMapKey("a b"),
			types.StringValue("a b")),
		`volumes[1].claim_name is "A", but must be`: validate(t, tf.ObjectName(),
			path.Root("volumes").AtListIndex(1).AtName("claim_name"), types.StringValue("A")),
		`Did you mean "llm-train"?`: validate(t, tf.ServiceName(), path.Root("name"), types.StringValue("LLM_Train ")),
		`"` + strings.Repeat("a", 100) + `"… (200 byte`: validate(t, tf.ServiceName(), path.Root("name"),
			types.StringValue(strings.Repeat("a", 200))),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not contain %q", got, want)
		}
	}
}

func TestNoNullsReportsEachNullAtItsPath(t *testing.T) {
	t.Parallel()
	values := map[string]attr.Value{"a": types.StringValue("x"), "b": types.StringNull(), "c": types.StringUnknown()}
	inMap := validator.MapResponse{}
	tf.NoNulls().ValidateMap(t.Context(), validator.MapRequest{Path: path.Root("m"),
		ConfigValue: types.MapValueMust(types.StringType, values)}, &inMap)
	if len(inMap.Diagnostics) != 1 || inMap.Diagnostics[0].Detail() != `m["b"] is null: set a value, or remove it.` {
		t.Errorf("map: %v", inMap.Diagnostics)
	}
	inList := validator.ListResponse{}
	list := types.ListValueMust(types.StringType, []attr.Value{values["a"], values["c"], values["b"]})
	tf.NoNulls().ValidateList(t.Context(), validator.ListRequest{Path: path.Root("l"), ConfigValue: list}, &inList)
	if len(inList.Diagnostics) != 1 || inList.Diagnostics[0].Detail() != `l[2] is null: set a value, or remove it.` {
		t.Errorf("list: %v", inList.Diagnostics)
	}
	for _, none := range []types.List{types.ListNull(types.StringType), types.ListUnknown(types.StringType)} {
		resp := validator.ListResponse{}
		tf.NoNulls().ValidateList(t.Context(), validator.ListRequest{Path: path.Root("l"), ConfigValue: none}, &resp)
		if len(resp.Diagnostics) > 0 {
			t.Errorf("%s: %v", none, resp.Diagnostics)
		}
	}
}
