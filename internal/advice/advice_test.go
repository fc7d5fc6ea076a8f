package advice_test

import (
	"fmt"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
)

func TestTextUsesTheWordsOfTheCaller(t *testing.T) {
	t.Parallel()
	ofResource := map[advice.Field]string{advice.Image: "`image`", advice.CPU: "", advice.Memory: "50 %s of {it}"}
	ofAll := map[advice.Field]string{advice.Image: "the tag", advice.CPU: "`cpus`"}
	for name, test := range map[string]struct {
		text                      advice.Text
		worded, inKubernetesWords string
	}{
		"none":  {advice.Text{}, "", ""},
		"plain": {advice.Of("Wait."), "Wait.", "Wait."},
		"fields": {advice.Of("Check %s, %s and %q.", advice.Image, advice.CPU, advice.MemoryLimit),
			"Check `image`, `cpus` and \"the memory limit\".",
			"Check the image, the CPU request and \"the memory limit\"."},
		"unknown field": {advice.Of("Set %s.", advice.Field("the colour")), "Set the colour.", "Set the colour."},
		"nested": {advice.Of("%s Or %s%d.", advice.Of("Set %s.", advice.Of("%s", advice.CPU)), advice.Text{}, 5),
			"Set `cpus`. Or 5.", "Set the CPU request. Or 5."},
		"foreign text": {advice.Of("Correct %q in %s.", "{the image} %s %d", "{the CPU request}%!"),
			`Correct "{the image} %s %d" in {the CPU request}%!.`,
			`Correct "{the image} %s %d" in {the CPU request}%!.`},
		"literal text":              {advice.Of("Set {x} to 100%%."), "Set {x} to 100%.", "Set {x} to 100%."},
		"foreign text like a field": {advice.Of("Delete %s.", "the image"), "Delete the image.", "Delete the image."},
		"words like foreign text": {advice.Of("Set %s.", advice.Memory), "Set 50 %s of {it}.",
			"Set the memory request."},
	} {
		if got := test.text.In(ofResource, ofAll); got != test.worded {
			t.Errorf("%s: got %q, want %q", name, got, test.worded)
		}
		if got := test.text.In(); got != test.inKubernetesWords || fmt.Sprint(test.text) != got {
			t.Errorf("%s: got %q, want %q", name, got, test.inKubernetesWords)
		}
	}
}
