package compute

import (
	"os"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/types"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// jobs returns functions that set a command, and each setting of job.
func jobs(t *testing.T) map[string]func(*model) {
	t.Helper()
	of := func(job manifest.Job, replicas int64) func(*model) {
		return func(m *model) {
			c := newConverter(t.Context())
			m.Command = tf.Encode(&c.Converter, m.Command, []string{"python", "train.py"})
			m.Job, m.Replicas = tf.Encode(&c.Converter, m.Job, &job), types.Int64Value(replicas)
			m.Image = types.StringValue("trainer:1")
		}
	}
	with := func(job func(*model), set func(*model)) func(*model) {
		return func(m *model) { job(m); set(m) }
	}
	plain := of(manifest.Job{}, 1)
	all := map[string]func(*model){
		"without settings": plain,
		"of several pods":  of(manifest.Job{}, 2),
		"of no pods":       of(manifest.Job{Completions: new(int32(4))}, 0),
		"zeros":            of(manifest.Job{BackoffLimit: new(int32(0)), TTL: new(time.Duration(0))}, 1),
		"all settings": of(manifest.Job{Completions: new(int32(8)), BackoffLimit: new(int32(2)),
			ActiveDeadline: new(12 * time.Hour), TTL: new(time.Hour),
			PodFailurePolicy: []batchv1.PodFailurePolicyRule{
				{Action: "FailJob", OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
					ContainerName: new("kubetorch"), Operator: "In", Values: []int32{42}}},
				{Action: "Ignore", OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
					{Type: "DisruptionTarget", Status: "True"}}},
			}}, 4),
		"port": with(of(manifest.Job{}, 2), func(m *model) {
			m.Port, m.HealthPath = types.Int64Value(8000), types.StringValue("/health")
		}),
		"args": with(plain, func(m *model) {
			m.Command, m.Args = types.ListNull(types.StringType), m.Command
		}),
		"suspended": with(plain, func(m *model) { m.Suspend = types.BoolValue(true) }),
		"suspended in a queue": with(plain, func(m *model) {
			m.Suspend, m.QueueName = types.BoolValue(true), types.StringValue("team")
		}),
		"of a team": with(of(manifest.Job{Completions: new(int32(8)), ActiveDeadline: new(time.Hour)}, 4),
			func(m *model) {
				settings(t)["metadata"](m)
				m.Port, m.GPUs, m.GPUType = types.Int64Value(8000), types.Int64Value(1), types.StringValue("L4")
				m.QueueName = types.StringValue("team")
				m.InactivityTTL, m.LaunchTimeout = durationOf("2h"), durationOf("30m")
				c := newConverter(t.Context())
				m.AllowedSerialization = tf.Encode(&c.Converter, m.AllowedSerialization, []string{"json"})
			}),
		"shell command":        with(plain, func(m *model) { m.Command = listOf(t, "/bin/bash", "-c", "train") }),
		"log level of its own": with(plain, settings(t)["log level as a variable"]),
	}
	for name, set := range settings(t) {
		if name != "replicas" && name != "behaviour" && name != "log level as a variable" { // not those of a command
			all["with "+name] = with(plain, set)
		}
	}
	return all
}

func listOf(t *testing.T, items ...string) types.List {
	t.Helper()
	list, diags := types.ListValueFrom(t.Context(), types.StringType, items)
	if diags.HasError() {
		t.Fatal(diags)
	}
	return list
}

// imported returns what an import sets for the workload that a model renders, which a manager has applied, and whether
// the configuration that is generated from it changes the workload.
func imported(t *testing.T, manager string, set ...func(*model)) (m *model, changes bool) {
	t.Helper()
	server, memory, found := kubetest.NewServer(t), owned.Memory{}, owned.Objects{}
	live := server.Apply(t, manager, workloadOf(t, rendered(t, planned(t, set...), defaults)))
	settings := config.Config{Host: server.URL, Token: "x", Env: config.Env{Getenv: func(string) string { return "" }}}
	data := &tf.ProviderData{Defaults: defaults, Revisions: manifest.Revisions(), Run: run.New(t.Context(),
		kube.NewCluster(t.Context(), settings).WithClock(&kubetest.Clock{}),
		run.NewCompletions(func() bool { return true }))}
	r := &reader{reading: &reading{Data: data, State: planned(t), Memory: memory}}
	r.State.Replicas = types.Int64Null()
	r.State.Mode = types.StringValue(manifest.Compute{Manifest: live.Object}.Mode())
	doc, managed, err := found.Import(memory, live)
	switch {
	case err != nil:
		t.Fatal(err)
	case managed:
		r.adoptSeen(t.Context(), r.State.observe(doc), found[manifest.Key(doc)])
	default:
		err = r.importForeign(t.Context(), live, found)
	}
	if err != nil || r.Diags.HasError() {
		t.Fatal(err, r.Diags)
	}
	again := r.renderedWorkload(t.Context(), doc)
	return r.State, again == nil || memory.Compare(manifest.Key(doc), again, doc) != fields.Equal
}

// What the attributes do not render is replaced, which destroys a running Job and starts it again.
func TestJobOfThisProviderIsImportedAsItsAttributes(t *testing.T) {
	t.Parallel()
	for name, set := range jobs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := planned(t, set)
			m, changes := imported(t, kube.Manager, set)
			if changes || !m.Manifest.IsNull() || !m.Job.Equal(want.Job) || !m.Replicas.Equal(want.Replicas) ||
				!m.Command.Equal(want.Command) || !m.Args.Equal(want.Args) {
				t.Fatalf("changes the Job: %t, job %s, replicas %s, command %s, args %s, manifest %s", changes, m.Job,
					m.Replicas, m.Command, m.Args, m.Manifest)
			}
			if got, want := rendered(t, m, defaults), rendered(t, want, defaults); !equalObjects(got, want) {
				t.Errorf("the imported attributes render\n%v\nwant\n%v", got.Value(), want.Value())
			}
		})
	}
}

// No attribute contains the digest of restart_triggers, or the fields of service_template.
func TestJobWithFieldsThatNoAttributeHasKeepsThem(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*model){
		"restart triggers": func(m *model) { m.RestartTriggers = texts(t, map[string]string{"a": "1"}) },
		"service template": func(m *model) {
			m.ServiceTemplate = jsontypes.NewNormalizedValue(`{"spec":{"template":{"spec":{"hostname":"a"}}}}`)
		},
	} {
		m, changes := imported(t, kube.Manager, jobs(t)["without settings"], set)
		if changes || m.Manifest.IsNull() {
			t.Errorf("%s: changes the Job: %t, manifest %s", name, changes, m.Manifest)
		}
	}
}

func TestServerOfOnesOwnIsImportedAsItsAttributes(t *testing.T) {
	t.Parallel()
	for name, set := range settings(t) {
		if name == "behaviour" {
			continue // of Kubetorch's server
		}
		for _, port := range []types.Int64{types.Int64Null(), types.Int64Value(8000)} {
			t.Run(name+" "+port.String(), func(t *testing.T) {
				t.Parallel()
				m, changes := imported(t, kube.Manager, set, func(m *model) {
					m.Command, m.Port = listOf(t, "serve"), port
				})
				if changes || !m.Manifest.IsNull() {
					t.Errorf("changes the Deployment: %t, manifest %s, variables %s", changes, m.Manifest, m.EnvVars)
				}
			})
		}
	}
}

// A manifest of this provider is imported as one, and its command as the attribute that it comes from: only with the
// attribute, the container lacks the log level and the capability of Kubetorch's server.
func TestManifestOfThisProviderIsImportedAsItWasSet(t *testing.T) {
	t.Parallel()
	const likeAJob = `{apiVersion: batch/v1, kind: Job, spec: {completionMode: Indexed, parallelism: 1, completions: 1,
		template: {spec: {restartPolicy: Never, containers: [{name: kubetorch, command: [train]}]}}}}`
	manifests := map[string]string{"like that of attributes": likeAJob}
	const directory = "../../manifest/testdata/manifests/"
	for _, name := range []string{"cronjob", "daemonset", "job", "jobset", "leaderworkerset", "mxjob", "pod",
		"pytorchjob", "rayjob", "replicaset", "statefulset", "tfjob", "xgboostjob"} {
		text, err := os.ReadFile(directory + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		manifests[name] = string(text)
	}
	for name, text := range manifests {
		commands := []types.List{types.ListNull(types.StringType)}
		if text != likeAJob { // which sets one
			commands = append(commands, listOf(t, "train"))
		}
		for _, command := range commands {
			t.Run(name+" "+command.String(), func(t *testing.T) {
				t.Parallel()
				m, changes := imported(t, kube.Manager, func(m *model) {
					m.Manifest, m.Command, m.Replicas = tf.DocumentOf(text), command, types.Int64Null()
				})
				if changes || m.Manifest.IsNull() || !m.Job.IsNull() || !m.Command.Equal(command) {
					t.Errorf("changes the workload: %t, manifest %s, job %s, command %s", changes, m.Manifest, m.Job,
						m.Command)
				}
			})
		}
	}
}

func TestJobOfAnotherClientIsImportedAsAManifest(t *testing.T) {
	t.Parallel()
	m, _ := imported(t, "kubectl", jobs(t)["all settings"])
	if m.Manifest.IsNull() || !m.Job.IsNull() || !m.Command.IsNull() {
		t.Errorf("manifest %s, job %s, command %s", m.Manifest, m.Job, m.Command)
	}
}
