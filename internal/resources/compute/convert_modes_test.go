package compute

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// An observed Job lacks completions exactly while they are the number of its pods.
func TestCompletionsOfAJobFollowOnlyTheirOwnChanges(t *testing.T) {
	t.Parallel()
	job := func(replicas int64, completions *int32) manifest.Compute {
		return manifest.Compute{Replicas: replicas, Job: &manifest.Job{Completions: completions}}
	}
	two, four, six := ptr.To[int32](2), ptr.To[int32](4), ptr.To[int32](6)
	for name, test := range map[string]struct {
		attribute     *int32
		before, after manifest.Compute
		want          types.Int64
	}{
		"only the pods at a time":              {nil, job(2, nil), job(3, two), types.Int64Null()},
		"scaled with the pods":                 {nil, job(2, nil), job(3, nil), types.Int64Null()},
		"only the pods at a time, to equal":    {four, job(2, four), job(4, nil), types.Int64Value(4)},
		"scaled with the pods, but set":        {two, job(2, nil), job(3, nil), types.Int64Value(3)},
		"only the completions":                 {four, job(2, four), job(2, six), types.Int64Value(6)},
		"only the completions, although unset": {nil, job(2, nil), job(2, six), types.Int64Value(6)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, m := newConverter(t.Context()), planned(t)
			m.Job = tf.Encode(&c.Converter, m.Job, &manifest.Job{Completions: test.attribute})
			followJob(c, m, &test.before, &test.after)
			if got := memberOf[types.Int64](m.Job, "completions"); !got.Equal(test.want) || len(c.Diags) > 0 {
				t.Errorf("completions are %s, want %s: %v", got, test.want, c.Diags)
			}
		})
	}
}
