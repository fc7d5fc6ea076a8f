package protocol_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// volumeOf returns a kt_volume with the required attributes and further attributes as JSON.
func volumeOf(more string) string {
	config := `{"name": "data", "size": "10Gi", "mount_path": "/data"`
	if more != "" {
		config += ", " + more
	}
	return config + "}"
}

func TestVolumeReportsInvalidInputAtItsAttribute(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	long := strings.Repeat("a", 64)
	for _, c := range []badInput{
		{name: "no name", config: `{"size": "1Gi"}`, at: "name", text: "Must set a configuration value"},
		{name: "no size", config: `{"name": "data"}`, at: "size", text: "Must set a configuration value"},
		{name: "empty name", config: `{"name": "", "size": "1Gi"}`, at: "name", text: "name is empty"},
		{name: "name in upper case", config: `{"name": "Data", "size": "1Gi"}`, at: "name",
			text: `Did you mean "data"?`},
		{name: "name longer than a label", config: `{"name": "` + long + `", "size": "1Gi"}`, at: "name",
			text: "at most 63"},
		{name: "namespace with dot", config: volumeOf(`"namespace": "ml.team"`), at: "namespace",
			text: `Did you mean "ml-team"?`},
		{name: "size without a number", config: `{"name": "data", "size": "big"}`, at: "size", text: `size is "big"`},
		{name: "size with a wrong unit", config: `{"name": "data", "size": "10gb"}`, at: "size", text: "did you mean"},
		{name: "size of nothing", config: `{"name": "data", "size": "0"}`, at: "size",
			text: "must be more than zero"},
		{name: "size below nothing", config: `{"name": "data", "size": "-1Gi"}`, at: "size",
			text: "must not be negative"},
		{name: "size in thousandths", config: `{"name": "data", "size": "10m"}`, at: "size",
			text: "m means a thousandth, M a million"},
		{name: "relative mount path", config: `{"name": "data", "size": "1Gi", "mount_path": "data"}`, at: "mount_path",
			text: "a relative path"},
		{name: "mount path of the root", config: `{"name": "data", "size": "1Gi", "mount_path": "/"}`, at: "mount_path",
			text: "would hide the image"},
		{name: "unknown access mode", config: volumeOf(`"access_mode": "RWX"`), at: "access_mode",
			text: "ReadWriteOncePod"},
		{name: "class with blanks", config: volumeOf(`"storage_class": "my class"`), at: "storage_class",
			text: `storage_class is "my class"`},
		{name: "PersistentVolume in upper case", config: volumeOf(`"volume_name": "PV"`), at: "volume_name",
			text: `Did you mean "pv"?`},
		{name: "empty PersistentVolume", config: volumeOf(`"volume_name": ""`), at: "volume_name",
			text: "volume_name is empty"},
		{name: "bad label", config: volumeOf(`"labels": {"a": "b c"}`), at: `labels["a"]`,
			text: "the value of a label"},
		{name: "null label", config: volumeOf(`"labels": {"a": null}`), at: `labels["a"]`, text: "is null"},
		{name: "bad annotation", config: volumeOf(`"annotations": {"a b": "c"}`), at: `annotations["a b"]`,
			text: "the key of a label or annotation"},
		{name: "label of another volume", config: volumeOf(`"labels": {"kubetorch.com/volume": "other"}`), at: "labels",
			text: `must be "data" here`},
		{name: "mount path as an annotation", config: volumeOf(`"annotations": {"kubetorch.com/mount-path": "/x"}`),
			at: "annotations", text: "it is set from mount_path"},
		{name: "timeout of nothing", config: volumeOf(`"timeouts": {"create": "0s"}`), at: "timeouts.create",
			text: "must be more than zero"},
		{name: "timeout without a unit", config: volumeOf(`"timeouts": {"delete": "soon"}`), at: "timeouts.delete",
			text: "is not a duration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := o.validate(t, "kt_volume", jsonConfig(t, o.types["kt_volume"], c.config))
			if len(found) != 1 || found[0].severity != tfprotov6.DiagnosticSeverityError || found[0].path != c.at ||
				!strings.Contains(found[0].detail, c.text) {
				t.Errorf("%s gives %v\nwant one error at %s that contains: %s", c.config, found, c.at, c.text)
			}
			if len(found) > 0 && found[0].summary == "" {
				t.Error("the diagnostic has no summary")
			}
		})
	}
}

func TestVolumeAcceptsValidInput(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	for name, config := range map[string]string{
		"required attributes":   `{"name": "data", "size": "1Gi"}`,
		"name with dots":        `{"name": "data.v1", "size": "1Gi"}`,
		"size as a number":      `{"name": "data", "size": "1073741824"}`,
		"size with an exponent": `{"name": "data", "size": "1e9"}`,
		"very large size":       `{"name": "data", "size": "4Ei"}`,
		"no class":              volumeOf(`"storage_class": ""`),
		"everything": volumeOf(`"namespace": "ml", "access_mode": "ReadWriteOncePod", ` +
			`"storage_class": "fast", "volume_name": "pv-1", "labels": {"team": "ml",
			"app": "x"}, "annotations": {"owner": "alice"}, "wait_for_bound": false, "adopt_existing": true,
			"deletion_protection": true, "timeouts": {"create": "1h", "update": "30m", "delete": "1m30s"}`),
		"labels equal to reserved labels": volumeOf(`"labels": {"kubetorch.com/volume": "data"}`),
		"everything unknown": `{"name": "` + unknown + `", "namespace": "` + unknown +
			`", "size": "` + unknown + `", "mount_path": "` + unknown + `", "access_mode": "` + unknown +
			`", "storage_class": "` + unknown + `", "volume_name": "` + unknown + `", "labels": "` + unknown +
			`", "annotations": {"a": "` + unknown + `"}, "wait_for_bound": "` + unknown + `"}`,
		"an unknown name with a reserved label": `{"name": "` + unknown +
			`", "size": "1Gi", "labels": {"kubetorch.com/volume": "x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found := o.validate(t, "kt_volume", jsonConfig(t, o.types["kt_volume"], config)); len(found) > 0 {
				t.Errorf("%s gives %v", config, found)
			}
		})
	}
}
