package compute

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

func TestFieldsOfAnIgnoredAttributeAreUnchanged(t *testing.T) {
	t.Parallel()
	const head = `"apiVersion":"v1","kind":"X","metadata":{"name":"x","namespace":"ml"`
	for name, c := range map[string]struct{ original, planned, prior, want string }{
		"a label changed on the object only": {
			original: `,"labels":{"team":"ml"}},"spec":{"labels":{"team":"ml"},"size":2}`,
			planned:  `,"labels":{"team":"web"}},"spec":{"labels":{"team":"web"},"size":2}`,
			prior:    `,"labels":{"team":"web"}},"spec":{"labels":{"team":"ml"},"size":1}`,
			want:     `,"labels":{"team":"web"}},"spec":{"labels":{"team":"ml"},"size":2}`,
		},
		"a variable added to one of two containers, and a change of the configuration": {
			original: `},"a":{"env":[{"name":"A","value":"1"},{"name":"L","value":"new"}]},"b":{"env":[{"name":"L",` +
				`"value":"new"}]}`,
			planned: `},"a":{"env":[{"name":"A","value":"2"},{"name":"N","value":"3"},{"name":"L","value":"new"}]},` +
				`"b":{"env":[{"name":"N","value":"3"},{"name":"L","value":"new"}]}`,
			prior: `},"a":{"env":[{"name":"A","value":"2"},{"name":"L","value":"old"},{"name":"N","value":"3"}]},` +
				`"b":{"env":[{"name":"L","value":"old"}]}`,
			want: `},"a":{"env":[{"name":"A","value":"2"},{"name":"L","value":"new"},{"name":"N","value":"3"}]},` +
				`"b":{"env":[{"name":"L","value":"new"}]}`,
		},
		"a removed field": {
			original: `},"a":{"b":1},"c":{"b":1}`, planned: `},"a":{},"c":{}`, prior: `},"a":{},"c":{"b":1}`,
			want: `},"a":{},"c":{"b":1}`,
		},
		"a changed image, and the number of pods of a Ray worker group": {
			original: `},"head":{"image":"b"},"workers":[{"groupName":"w","replicas":3,"image":"b"}]`,
			planned:  `},"head":{"image":"b"},"workers":[{"groupName":"w","replicas":5,"image":"b"}]`,
			prior:    `},"head":{"image":"a"},"workers":[{"groupName":"w","replicas":5,"image":"a"}]`,
			want:     `},"head":{"image":"b"},"workers":[{"groupName":"w","replicas":5,"image":"b"}]`,
		},
		"two mounts of one volume, a removed one of an ignored attribute, and an added one": {
			original: `},"mounts":[{"name":"s","mountPath":"/a"},{"name":"s","mountPath":"/b"},` +
				`{"name":"data","mountPath":"/old"},{"name":"new","mountPath":"/new"}]`,
			planned: `},"mounts":[{"name":"s","mountPath":"/a"},{"name":"s","mountPath":"/b"},` +
				`{"name":"new","mountPath":"/new"}]`,
			prior: `},"mounts":[{"name":"s","mountPath":"/a"},{"name":"s","mountPath":"/b"}]`,
			want: `},"mounts":[{"name":"s","mountPath":"/a"},{"name":"s","mountPath":"/b"},` +
				`{"name":"new","mountPath":"/new"}]`,
		},
		"a toleration of GPUs, and one of an ignored attribute": {
			original: `},"tolerations":[{"key":"team","value":"ml"},{"key":"gpu"}]`,
			planned:  `},"tolerations":[{"key":"team","value":"web"},{"key":"gpu"}]`,
			prior:    `},"tolerations":[{"key":"team","value":"web"}]`,
			want:     `},"tolerations":[{"key":"team","value":"web"},{"key":"gpu"}]`,
		},
		"a port without a name, and the protocol of one of an ignored attribute": {
			original: `},"ports":[{"containerPort":80},{"containerPort":90}]`,
			planned:  `},"ports":[{"containerPort":80,"protocol":"UDP"},{"containerPort":90}]`,
			prior:    `},"ports":[{"containerPort":80,"protocol":"UDP"}]`,
			want:     `},"ports":[{"containerPort":80,"protocol":"UDP"},{"containerPort":90}]`,
		},
		"tolerations of which two have one key": {
			original: `},"tolerations":[{"key":"a","effect":"x"},{"key":"a","effect":"y"}]`,
			planned:  `},"tolerations":[{"key":"a","effect":"x"}]`,
			prior:    `},"tolerations":[{"key":"a","effect":"x"}]`,
			want:     `},"tolerations":[{"key":"a","effect":"x"}]`,
		},
		"an emptied list of an ignored attribute": {
			original: `},"tolerations":[{"key":"team"},{"key":"gpu"}]`, planned: `},"tolerations":[{"key":"gpu"}]`,
			prior: `},"tolerations":[]`, want: `},"tolerations":[{"key":"gpu"}]`,
		},
		"lists of items without names": {
			original: `},"a":["x"],"b":["x"]`, planned: `},"a":["y"],"b":["y"]`, prior: `},"a":["y"],"b":["x"]`,
			want: `},"a":["y"],"b":["x"]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := func(rest string) *owned.Object {
				object, err := owned.ParseObject("X/ml/x", "{"+head+rest+"}")
				if err != nil {
					t.Fatal(err)
				}
				return object
			}
			want := preserveObject(of(c.want), of(c.want), of(c.want))
			if got := preserveObject(of(c.original), of(c.planned), of(c.prior)); !got.Equal(want) {
				t.Errorf("got\n%s\nwant\n%s", got.Text, want.Text)
			}
		})
	}
}

// The number of pods is that of the prior workload, or of the state if it was deleted: the plan shows it.
func TestIgnoredReplicasAreThoseOfTheWorkloadOrTheState(t *testing.T) {
	t.Parallel()
	deployment := func(spec string) owned.Objects {
		object, err := owned.ParseObject("Deployment/ml/trainer", `{"apiVersion":"apps/v1","kind":"Deployment",`+
			`"metadata":{"name":"trainer","namespace":"ml"},"spec":`+spec+`}`)
		if err != nil {
			t.Fatal(err)
		}
		return owned.Objects{object.Key: object}
	}
	for name, c := range map[string]struct {
		prior  owned.Objects
		change func(*model)
		want   string
	}{
		"no autoscaler": {prior: deployment(`{"replicas":3}`), want: `{"replicas":3}`},
		"hpa": {prior: deployment(`{"replicas":3}`), want: `{"replicas":2}`, change: func(m *model) {
			m.Autoscale = autoscaled(manifest.ScalerHPA, types.Int64Null())
		}},
		"keda": {prior: deployment(`{"replicas":3}`), want: `{"replicas":2}`, change: func(m *model) {
			m.Autoscale = autoscaled(manifest.ScalerKEDA, types.Int64Null())
		}},
		"a removed autoscaler": {prior: deployment(`{}`), want: `{"replicas":5}`},
		"a removed autoscaler of a suspended workload": {prior: deployment(`{}`), want: `{"replicas":2}`,
			change: func(m *model) { m.Suspend = types.BoolValue(true) }},
		"a manifest without a number": {prior: deployment(`{}`), want: `{"replicas":2}`, change: func(m *model) {
			m.Manifest = tf.DocumentOf(`{}`)
		}},
		"a deleted workload": {want: `{"replicas":5}`},
		"a deleted workload that is suspended": {want: `{"replicas":2}`, change: func(m *model) {
			m.Suspend = types.BoolValue(true)
		}},
		"a deleted workload of a manifest": {want: `{"replicas":2}`, change: func(m *model) {
			m.Manifest = tf.DocumentOf(`{}`)
		}},
		"a deleted workload without a number": {want: `{"replicas":2}`, change: func(m *model) {
			m.Replicas = types.Int64Null()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := planned(t, func(m *model) {
				m.Replicas = types.Int64Value(5)
				if c.change != nil {
					c.change(m)
				}
			})
			p := &planner{unignored: &unignoredConfig{config: model{Replicas: types.Int64Value(2)}},
				planning: &planning{State: state, Config: state, Plan: state}}
			got := p.preserveReplicas(deployment(`{"replicas":2}`), c.prior)
			if changed, _ := deployment(c.want).ChangedFrom(got); len(changed) > 0 {
				t.Errorf("got %s, want the spec %s", got.Value(), c.want)
			}
		})
	}
}
