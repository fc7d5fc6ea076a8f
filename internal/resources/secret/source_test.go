package secret

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// fixture returns a source with files in its home directory, and with environment variables.
func fixture(t *testing.T, files, variables map[string]string) *localSource {
	t.Helper()
	home := t.TempDir()
	for name, content := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &localSource{home: home, getenv: func(name string) string { return variables[name] }}
}

// config returns a configuration with some attributes; the others are null.
func config(change func(*model)) *model {
	m := &model{
		ValuesWO: types.MapNull(types.StringType), Values: types.MapNull(types.StringType),
		FromEnv: types.MapNull(types.StringType), Filenames: types.ListNull(types.StringType),
	}
	change(m)
	return m
}

// ofProvider returns a configuration that sets only provider_name.
func ofProvider(name string) *model {
	return config(func(m *model) { m.ProviderName = types.StringValue(name) })
}

func list(names ...string) types.List {
	elements := make([]attr.Value, len(names))
	for i, name := range names {
		elements[i] = types.StringValue(name)
	}
	return types.ListValueMust(types.StringType, elements)
}

// found is the content of a source, in a form that can be compared.
type found struct {
	Data  map[string]string
	Mount string
	Env   bool
}

// gatherSource returns the content of a source, or the detail of the error.
func gatherSource(t *testing.T, local *localSource, cfg *model) (found, string) {
	t.Helper()
	c, diags := gather(t.Context(), cfg, local)
	if diags.HasError() {
		return found{}, diags.Errors()[0].Detail()
	}
	out := found{Data: map[string]string{}, Mount: mountPath(cfg, c)}
	out.Env = out.Mount == ""
	for key, value := range c.data {
		out.Data[key] = string(value)
	}
	return out, ""
}

func TestCredentialsOfEachProviderAreRead(t *testing.T) {
	t.Parallel()
	type fixtures struct {
		files, variables map[string]string
		want             found
	}
	key := func(name string) fixtures {
		return fixtures{variables: map[string]string{name: "v"},
			want: found{Data: map[string]string{name: "v"}, Env: true}}
	}
	file := func(path string) fixtures {
		dir, name := filepath.Split(path)
		return fixtures{files: map[string]string{path: "f\n"},
			want: found{Data: map[string]string{name: "f\n"}, Mount: "/root/" + filepath.Clean(dir)}}
	}
	cases := map[string][]fixtures{
		"anthropic": {key("ANTHROPIC_API_KEY")},
		"aws": {
			{
				files: map[string]string{".aws/config": "c", ".aws/credentials": "k", ".aws/cli/cache.json": "no"},
				want:  found{Data: map[string]string{"config": "c", "credentials": "k"}, Mount: "/root/.aws"},
			},
			file(".aws/credentials"),
			{
				variables: map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"},
				want: found{Data: map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"},
					Env: true},
			},
			{ // files take precedence
				files:     map[string]string{".aws/config": "c"},
				variables: map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"},
				want:      found{Data: map[string]string{"config": "c"}, Mount: "/root/.aws"},
			},
		},
		"azure":  {file(".azure/clouds.config")},
		"cohere": {key("COHERE_API_KEY")},
		"gcp": {
			file(".config/gcloud/application_default_credentials.json"),
			{
				variables: map[string]string{"CLIENT_ID": "a", "CLIENT_SECRET": "b"},
				want:      found{Data: map[string]string{"CLIENT_ID": "a", "CLIENT_SECRET": "b"}, Env: true},
			},
		},
		"github": {file(".config/gh/hosts.yml")},
		"huggingface": {
			{ // the file becomes the variable, without the line end that tools write
				files:     map[string]string{".cache/huggingface/token": "t\n"},
				variables: map[string]string{"HF_TOKEN": "v"},
				want:      found{Data: map[string]string{"HF_TOKEN": "t"}, Env: true},
			},
			key("HF_TOKEN"),
		},
		"kubernetes": {file(".kube/config")},
		"lambda":     {file(".lambda_cloud/lambda_keys")},
		"langchain":  {key("LANGCHAIN_API_KEY")},
		"openai":     {key("OPENAI_API_KEY")},
		"pinecone":   {key("PINECONE_API_KEY")},
		"ssh":        {file(".ssh/id_rsa")},
		"wandb":      {key("WANDB_API_KEY")},
	}
	for _, name := range spec.Providers() {
		if len(cases[name]) == 0 {
			t.Errorf("%s has no case", name)
		}
		for i, test := range cases[name] {
			t.Run(fmt.Sprintf("%s %d", name, i+1), func(t *testing.T) {
				t.Parallel()
				got, problem := gatherSource(t, fixture(t, test.files, test.variables), ofProvider(name))
				if diff := cmp.Diff(test.want, got); diff != "" || problem != "" {
					t.Errorf("%s\n%s", problem, diff)
				}
			})
		}
		t.Run(name+" without credentials", func(t *testing.T) {
			t.Parallel()
			_, problem := gatherSource(t, fixture(t, nil, nil), ofProvider(name))
			provider, _ := spec.ProviderNamed(name)
			for _, text := range append(append([]string{name}, provider.Files...), provider.EnvVars...) {
				if !strings.Contains(problem, text) {
					t.Errorf("%q does not name %s", problem, text)
				}
			}
		})
	}
	if len(cases) != len(spec.Providers()) {
		t.Errorf("%d cases for %d providers", len(cases), len(spec.Providers()))
	}
}

func TestPathsFilenamesAndVariablesAreRead(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"creds/a": "1", "creds/my key.txt": "2", "creds/sub/c": "3", "one/token": "4\n", "clash/a b": "",
		"clash/a-b": "", "empty/sub/x": "",
		"top": "5",
	}
	at := func(path string, change func(*model)) *model {
		return config(func(m *model) {
			m.Path = types.StringValue(path)
			if change != nil {
				change(m)
			}
		})
	}
	named := func(names ...string) func(*model) { return func(m *model) { m.Filenames = list(names...) } }
	mounted := func(m *model) { m.MountPath = types.StringValue("/etc/creds") }
	for name, test := range map[string]struct {
		config  func(home string) *model
		want    found
		problem string
	}{
		"a directory": {config: func(string) *model { return at("~/creds", nil) },
			want: found{Data: map[string]string{"a": "1", "my-key.txt": "2"}, Mount: "/root/creds"}},
		"a directory by its absolute path": {config: func(home string) *model { return at(home+"/creds/", named("a")) },
			want: found{Data: map[string]string{"a": "1"}, Mount: "/root/creds"}},
		"a file": {config: func(string) *model { return at("~/one/token", nil) },
			want: found{Data: map[string]string{"token": "4\n"}, Mount: "/root/one"}},
		"a file with mount_path": {config: func(string) *model { return at("~/one/token", mounted) },
			want: found{Data: map[string]string{"token": "4\n"}, Mount: "/etc/creds"}},
		"a file of a provider": {config: func(string) *model {
			m := ofProvider("huggingface")
			m.Path = types.StringValue("~/one/token")
			return m
		}, want: found{Data: map[string]string{"HF_TOKEN": "4"}, Env: true}},
		"a file of a provider with mount_path": {config: func(string) *model {
			m := ofProvider("huggingface")
			m.Path = types.StringValue("~/one")
			mounted(m)
			return m
		}, want: found{Data: map[string]string{"token": "4\n"}, Mount: "/etc/creds"}},
		"variables": {config: func(string) *model {
			return config(func(m *model) { m.FromEnv = tf.TextMap(map[string]string{"TOKEN": "LOCAL"}) })
		}, want: found{Data: map[string]string{"TOKEN": "v"}, Env: true}},
		"variables of a provider": {config: func(string) *model {
			m := ofProvider("aws")
			m.FromEnv = tf.TextMap(map[string]string{"AWS_ACCESS_KEY_ID": "LOCAL"})
			return m
		}, want: found{Data: map[string]string{"AWS_ACCESS_KEY_ID": "v"}, Env: true}},

		"a missing path": {config: func(string) *model { return at("~/none", nil) },
			problem: "path: ~/none does not exist on the machine that runs Terraform."},
		"missing files": {config: func(string) *model { return at("~/creds", named("a", "x", "y")) },
			problem: "has no file x, y."},
		"filenames with a file": {config: func(string) *model { return at("~/one/token", named("token")) },
			problem: "~/one/token is a file, not a directory"},
		"an empty directory": {config: func(string) *model { return at("~/empty", nil) },
			problem: "~/empty contains no files"},
		"two files for one key": {config: func(string) *model { return at("~/clash", nil) },
			problem: `"a b" and "a-b" would both become the key "a-b"`},
		"a file in the home directory without mount_path": {config: func(string) *model { return at("~/top", nil) },
			problem: "hide the content of /root in the container: set mount_path"},
		"another user's home directory": {config: func(string) *model { return at("~bob/x", nil) },
			problem: "set the absolute path"},
		"a variable that is not set": {config: func(string) *model {
			return config(func(m *model) {
				m.FromEnv = tf.TextMap(map[string]string{"A": "CANARY_A", "B": "CANARY_B", "C": "LOCAL"})
			})
		}, problem: `from_env: the variable named in from_env["A"] and in from_env["B"] is not set, or is empty, in ` +
			"the environment of Terraform."},
		"a variable of a provider that is not set": {config: func(string) *model {
			m := ofProvider("aws")
			m.FromEnv = tf.TextMap(map[string]string{"AWS_ACCESS_KEY_ID": "CANARY"})
			return m
		}, problem: "Searched for: the environment variables of the keys AWS_ACCESS_KEY_ID"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			local := fixture(t, files, map[string]string{"LOCAL": "v"})
			got, problem := gatherSource(t, local, test.config(local.home))
			if diff := cmp.Diff(test.want, got); diff != "" || !strings.Contains(problem, test.problem) ||
				(test.problem == "") != (problem == "") {
				t.Errorf("problem %q, want %q\n%s", problem, test.problem, diff)
			}
			if strings.Contains(problem, "CANARY") { // it may be a value that was taken for the name of a variable
				t.Errorf("%q quotes a text of from_env", problem)
			}
		})
	}
}

func TestTooLargeSourcesAreRejectedWithoutReading(t *testing.T) {
	t.Parallel()
	local := fixture(t, map[string]string{"big/a": "x", "big/weights": strings.Repeat("x", 1<<20)}, nil)
	_, problem := gatherSource(t, local, config(func(m *model) { m.Path = types.StringValue("~/big") }))
	if want := "1048577 bytes in total, but a Secret can contain at most 1048576 (1 MiB). The largest is weights " +
		"with 1048576 bytes"; !strings.Contains(problem, want) {
		t.Errorf("%q does not contain %q", problem, want)
	}
}

func TestKeysOfUnknownSourcesAreUnknown(t *testing.T) {
	t.Parallel()
	local := fixture(t, nil, nil)
	for name, cfg := range map[string]*model{
		"path": config(func(m *model) { m.Path = types.StringUnknown() }),
		"filenames": config(func(m *model) {
			m.Path, m.Filenames = types.StringValue("~"), types.ListUnknown(types.StringType)
		}),
		"from_env": config(func(m *model) {
			m.FromEnv = types.MapValueMust(types.StringType, map[string]attr.Value{"A": types.StringUnknown()})
		}),
		"values": config(func(m *model) { m.Values = types.MapUnknown(types.StringType) }),
	} {
		if c, diags := gather(t.Context(), cfg, local); !c.unknown || diags.HasError() {
			t.Errorf("%s: %v %v", name, c.keys(), diags)
		}
	}
	c, _ := gather(t.Context(), config(func(m *model) {
		m.Values = types.MapValueMust(types.StringType, map[string]attr.Value{"A": types.StringUnknown(),
			"B": types.StringValue("b")})
	}), nil)
	if diff := cmp.Diff([]string{"A", "B"}, c.keys()); diff != "" || c.known() || c.unknown {
		t.Errorf("the keys are unknown, although only a value is: %s", diff)
	}
	if c, _ := gather(t.Context(), ofProvider("aws"), nil); !c.unknown {
		t.Error("local files are read before the provider is configured")
	}
}

func TestRevisionIncreasesWithEachChange(t *testing.T) {
	t.Parallel()
	digests := spec.Digests{}.WithSealer(spec.NewSealer())
	digests.Values["a"] = digests.Next("a", []byte("1"), false)
	digests.Values["b"] = digests.Next("b", []byte("2"), false)
	applied := map[string]string{"a": "revision 1", "b": "revision 1"}
	with := func(changes map[string]string) map[string]string {
		out := maps.Clone(applied)
		maps.Copy(out, changes)
		return out
	}
	for name, test := range map[string]struct {
		r    revisions
		data map[string]string
		want map[string]string
	}{
		"no change": {revisions{shown: applied}, map[string]string{"a": "1", "b": "2"}, applied},
		"a changed value": {revisions{shown: applied}, map[string]string{"a": "1", "b": "3"},
			with(map[string]string{"b": "revision 2"})},
		"a new key": {revisions{shown: applied}, map[string]string{"a": "1", "b": "2", "c": "3"},
			with(map[string]string{"c": "revision 1"})},
		"a removed key": {revisions{shown: applied}, map[string]string{"a": "1"}, map[string]string{"a": "revision 1"}},
		"drift of a value": {revisions{shown: with(map[string]string{"a": changedInCluster})},
			map[string]string{"a": "1", "b": "2"}, applied},
		"drift and a changed value": {revisions{shown: with(map[string]string{"a": changedInCluster})},
			map[string]string{"a": "9", "b": "2"}, with(map[string]string{"a": "revision 2"})},
		"changed values with the same version": {revisions{shown: applied, versioned: true},
			map[string]string{"a": "8", "b": "9"}, applied},
		"a new version": {revisions{shown: applied, versioned: true, versionChanged: true},
			map[string]string{"a": "1", "b": "9"}, map[string]string{"a": "revision 2", "b": "revision 2"}},
		"a changed value and drift with the same version": {
			revisions{shown: with(map[string]string{"a": missingInCluster}), versioned: true},
			map[string]string{"a": "8", "b": "9"}, with(map[string]string{"a": "revision 2"}),
		},
		"drift with the same version": {revisions{shown: with(map[string]string{"a": missingInCluster}),
			versioned: true}, map[string]string{"a": "1", "b": "9"}, applied},
	} {
		test.r.digests = digests
		c := content{data: map[string][]byte{}}
		for key, value := range test.data {
			c.data[key] = []byte(value)
		}
		if diff := cmp.Diff(test.want, tf.Texts(test.r.planned(c))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if _, diags := test.r.resolveEntries(c, tf.TextMap(test.want)); diags.HasError() {
			t.Errorf("%s: an apply of the same values is rejected: %v", name, diags)
		}
	}
}

func TestKeysAreUnknownWhileTheVersionIs(t *testing.T) {
	t.Parallel()
	digests := spec.Digests{}.WithSealer(spec.NewSealer())
	digests.Values["a"] = digests.Next("a", []byte("1"), false)
	r := revisions{digests: digests, shown: map[string]string{"a": "revision 1"}, versioned: true,
		versionChanged: true, versionUnknown: true}
	c := content{data: map[string][]byte{"a": []byte("2")}}
	planned := r.planned(c)
	if !planned.Elements()["a"].IsUnknown() {
		t.Errorf("the plan has %v", planned)
	}
	for name, version := range map[string]bool{"the same version": false, "a new version": true} {
		r.versionUnknown, r.versionChanged = false, version
		if _, diags := r.resolveEntries(c, planned); diags.HasError() {
			t.Errorf("%s: %v", name, diags)
		}
	}
}

func TestUnreadableSecretIsNotUpdatedWithOtherValues(t *testing.T) {
	t.Parallel()
	digests := spec.Digests{}.WithSealer(spec.NewSealer())
	digests.Values["a"] = digests.Next("a", []byte("1"), false)
	r := revisions{digests: digests, shown: map[string]string{"a": "revision 1"}, versioned: true}
	for value, refused := range map[string]bool{"1": false, "2": true} {
		c := content{data: map[string][]byte{"a": []byte(value)}}
		if diags := r.refuseUnreadable(c, kube.SecretRef("ml", "x")); diags.HasError() != refused {
			t.Errorf("value %s: %v", value, diags)
		}
	}
}

func TestApplyRejectsValuesThatDifferFromThePlan(t *testing.T) {
	t.Parallel()
	r := revisions{digests: spec.Digests{}.WithSealer(spec.NewSealer()), shown: map[string]string{}}
	planned := r.planned(content{data: map[string][]byte{"a": []byte("seen")}, external: true})
	for name, c := range map[string]content{
		"a changed value": {data: map[string][]byte{"a": []byte("swapped")}, external: true, attribute: "path"},
		"an added key": {data: map[string][]byte{"a": []byte("seen"), "b": nil}, external: true,
			attribute: "from_env"},
		"a removed key": {attribute: "path"},
	} {
		_, diags := r.resolveEntries(c, planned)
		if !diags.HasError() {
			t.Errorf("%s is applied", name)
		}
		for _, d := range diags {
			if text := d.Detail(); strings.Contains(text, "swapped") || !strings.Contains(text, c.attribute) {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
}
