package actions

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

func TestValuesOfTheConfigurationAreMasked(t *testing.T) {
	t.Parallel()
	values := types.ListValueMust(types.StringType, []attr.Value{types.StringValue("key-of-the-configuration")})
	for name, secrets := range map[string]types.Bool{
		"with those of Secrets": types.BoolNull(), "without those of Secrets": types.BoolValue(false),
	} {
		p := (&call{}).printer(outputModel{MaskSecrets: secrets, MaskValues: values})
		mask, err := p.mask(t.Context(), "ml", &corev1.PodSpec{}, ready.Starts{})
		if err != nil {
			t.Fatal(err)
		}
		if got := mask("uses key-of-the-configuration twice"); got != "uses (hidden) twice" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
