package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

func TestStateOfAnEarlierVersionIsUpgraded(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	for name, c := range map[string]struct {
		resource, state string
		version         int64
		want            string
	}{
		"a bound volume": {
			resource: "kt_volume", state: `{"id": "ml/data", "size": "1Gi", "labels": {"a": "b"}, "volume": "pvc-1"}`,
			want: `{"id": "ml/data", "size": "1Gi", "labels": {"a": "b"}, "bound_volume_name": "pvc-1"}`,
		},
		"an unbound volume": {
			resource: "kt_volume", state: `{"id": "ml/data", "volume": null}`, want: `{"id": "ml/data"}`,
		},
		"a state without the attribute": {
			resource: "kt_volume", state: `{"id": "ml/data"}`, want: `{"id": "ml/data"}`,
		},
		"a volume of the current version": {
			resource: "kt_volume", version: 1,
			state: `{"id": "ml/data", "bound_volume_name": "pvc-1"}`,
			want:  `{"id": "ml/data", "bound_volume_name": "pvc-1"}`,
		},
		"an image": {
			resource: "kt_image",
			state: `{"id": "ml/torch", "image": "debian:12", "setup": {"config_map": "kt-image-torch",
				"digest": "sha256:1", "python_path": null, "install_cmd": "pip"}}`,
			want: `{"id": "ml/torch", "image": "debian:12", "ref": {"image": "debian:12", "setup": {
				"config_map": "kt-image-torch", "digest": "sha256:1", "install_cmd": "pip"}}}`,
		},
		"an imported image that was never applied": {
			resource: "kt_image", state: `{"id": "ml/torch", "setup": null}`, want: `{"id": "ml/torch"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := o.server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
				TypeName: c.resource, Version: c.version, RawState: &tfprotov6.RawState{JSON: []byte(c.state)},
			})
			if err != nil || len(resp.Diagnostics) > 0 {
				t.Fatal(err, resp.Diagnostics)
			}
			got, err := resp.UpgradedState.Unmarshal(o.types[c.resource])
			if err != nil {
				t.Fatal(err)
			}
			diffs, err := jsonConfig(t, o.types[c.resource], c.want).Diff(got)
			if err != nil || len(diffs) > 0 {
				t.Errorf("want (first) and got (second) differ: %v %v", err, diffs)
			}
		})
	}
}

func TestStateThatIsNoObjectIsNotUpgraded(t *testing.T) {
	t.Parallel()
	resp, err := serveOffline(t).server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
		TypeName: "kt_volume", RawState: &tfprotov6.RawState{JSON: []byte(`[]`)},
	})
	if err != nil || len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Summary != "Invalid state" {
		t.Errorf("%v: %+v", err, resp)
	}
}
