package compute

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// followJob updates the settings that changed, unless the Job is that of manifest. An unset number of completions stays
// the number of pods. An import has no settings before.
func followJob(c *converter, m *model, before, after *manifest.Compute) {
	switch {
	case after.Job == nil, m.Job.IsNull() && !m.Manifest.IsNull():
		return
	case before.Job == nil:
		m.Job = tf.Encode(&c.Converter, m.Job, after.Job)
		return
	}
	seen := *after.Job
	unset := memberOf[types.Int64](m.Job, "completions").IsNull()
	switch is := after.Completions(); {
	case is == before.Completions(), unset && is == after.Replicas:
		seen.Completions = before.Job.Completions
	default:
		seen.Completions = new(int32(min(max(is, 0), math.MaxInt32)))
	}
	m.Job = tf.Follow(&c.Converter, m.Job, before.Job, &seen)
}

// followDistribute updates the number of workers, and the settings of Ray, unless they are those of manifest.
func followDistribute(c *converter, m *model, before, after *manifest.Compute) {
	was, is := ptr.Deref(before.Distribute, manifest.Distribute{}), after.Distribute
	if is == nil || before.Distribute != nil && reflect.DeepEqual(was, *is) ||
		m.Distribute.IsNull() && !m.Manifest.IsNull() {
		return
	}
	args := was.Args
	if was.Args = is.Args; !m.Distribute.IsNull() {
		was.Type = is.Type
	} else {
		was.Type = ""
	}
	m.Distribute = tf.Follow(&c.Converter, m.Distribute, &was, is)
	if !reflect.DeepEqual(args, is.Args) {
		m.addArgs(c, is.Args)
	}
}

// adoptDistribute adds what only the registration of an imported compute contains.
func (m *model) adoptDistribute(c *converter, found manifest.Distribute) {
	was := manifest.Distribute{Args: found.Args}
	if !memberOf[types.Int64](m.Distribute, "workers").IsNull() {
		was.Workers = found.Workers
	}
	timeout, err := manifest.ParseDuration(found.QuorumTimeout)
	if found.QuorumTimeout = ""; err == nil {
		found.QuorumTimeout = manifest.FormatDuration(timeout)
	}
	m.Distribute = tf.Follow(&c.Converter, m.Distribute, &was, &found)
	m.addArgs(c, found.Args)
}

func (m *model) addArgs(c *converter, found map[string]any) {
	if len(found) == 0 {
		return
	}
	args := map[string]any{}
	c.Decode(path.Root("distribute").AtName("args"), memberOf[jsontypes.Normalized](m.Distribute, "args"), &args)
	maps.Copy(args, found)
	if text, err := json.Marshal(args); err == nil {
		m.Distribute = tf.With(c.Context, m.Distribute, "args", jsontypes.NewNormalizedValue(string(text)))
	}
}

// followLogLevel updates the log level in env_vars if it is set there, or if a command runs, otherwise in
// logging_config, which only Kubetorch's server has.
func followLogLevel(c *converter, m *model, before, after *manifest.Compute) {
	was, is := before.LogLevel, after.LogLevel
	_, set := m.EnvVars.Elements()[manifest.LogLevelVariable]
	if set || m.Manifest.IsNull() && len(after.Command)+len(after.Args) > 0 {
		tf.SetChangedEntries(&m.EnvVars, logLevelVariable(was), logLevelVariable(is))
		return
	}
	if was != is && is != "" && !(m.Logging.IsNull() && is == manifest.DefaultLogLevel) {
		m.Logging = tf.With(c.Context, m.Logging, "level", types.StringValue(is))
	}
}

func logLevelVariable(level string) map[string]string {
	if level == "" {
		return nil
	}
	return map[string]string{manifest.LogLevelVariable: strings.ToUpper(level)}
}
