// Package secret defines the Kubernetes representation of a kt_secret: the usual files and environment variables of
// credential providers, the keys for them, and the metadata of the Secret. It reads no files and no environment.
package secret

import (
	"maps"
	"slices"
)

// Provider is the location of the credentials of one service on the machine that runs Terraform. The values are
// those of Kubetorch 0.5.0.
type Provider struct {
	// Dir is the directory of Files, with ~ for the home directory, or "" if the provider has no files. The files
	// are mounted at the same path.
	Dir   string
	Files []string
	// EnvVars are environment variables. Each is also the key of its value.
	EnvVars []string
	// FileKey is the key of the only file, if it is exposed as an environment variable instead of being mounted.
	FileKey string
	// DefaultMode contains the permission bits of the mounted files, as in the attribute, if the provider's tools
	// reject files that group or others can read. It is "" for the default of Kubernetes.
	DefaultMode string
}

// providers is a function so that the table cannot change. Among the tools, only ssh rejects a file because of its
// mode: a key that belongs to its user and is accessible to group or others (sshkey_perm_ok in authfile.c of
// openssh-portable).
func providers() map[string]Provider {
	return map[string]Provider{
		"anthropic": {EnvVars: []string{"ANTHROPIC_API_KEY"}},
		"aws": {Dir: "~/.aws", Files: []string{"config", "credentials"},
			EnvVars: []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}},
		"azure":  {Dir: "~/.azure", Files: []string{"clouds.config"}},
		"cohere": {EnvVars: []string{"COHERE_API_KEY"}},
		"gcp": {Dir: "~/.config/gcloud", Files: []string{"application_default_credentials.json"},
			EnvVars: []string{"CLIENT_ID", "CLIENT_SECRET"}},
		"github": {Dir: "~/.config/gh", Files: []string{"hosts.yml"}},
		"huggingface": {Dir: "~/.cache/huggingface", Files: []string{"token"}, EnvVars: []string{"HF_TOKEN"},
			FileKey: "HF_TOKEN"},
		"kubernetes": {Dir: "~/.kube", Files: []string{"config"}},
		"lambda":     {Dir: "~/.lambda_cloud", Files: []string{"lambda_keys"}},
		"langchain":  {EnvVars: []string{"LANGCHAIN_API_KEY"}},
		"openai":     {EnvVars: []string{"OPENAI_API_KEY"}},
		"pinecone":   {EnvVars: []string{"PINECONE_API_KEY"}},
		"ssh":        {Dir: "~/.ssh", Files: []string{"id_rsa"}, DefaultMode: "0400"},
		"wandb":      {EnvVars: []string{"WANDB_API_KEY"}},
	}
}

// Providers returns the sorted names of all providers.
func Providers() []string { return slices.Sorted(maps.Keys(providers())) }

// ProviderNamed returns the provider with a name.
func ProviderNamed(name string) (Provider, bool) {
	p, ok := providers()[name]
	return p, ok
}
