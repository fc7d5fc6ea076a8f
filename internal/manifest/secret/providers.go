// Package secret says what a kt_secret is in Kubernetes: which files and
// variables a provider's credentials are in, which keys they become, and the
// metadata of the Secret. It is pure: it reads no file and no environment.
package secret

import (
	"maps"
	"slices"
)

// Provider is where the credentials of one service are, on the machine that
// runs Terraform. The facts are Kubetorch 0.5.0's.
type Provider struct {
	// Dir is the folder of Files, with ~ for the home folder; "" where the
	// provider has no files. They are mounted at the same place.
	Dir   string
	Files []string
	// EnvVars are variables, each also the key of its value.
	EnvVars []string
	// FileKey is the key of the only file, where that is exposed as an
	// environment variable instead of being mounted.
	FileKey string
	// DefaultMode are the permission bits of the mounted files, as the attribute has them, where the provider's tools
	// refuse files that group or others can read; "" for Kubernetes' own default.
	DefaultMode string
}

// providers is a function, so that the table cannot change. Of their tools only ssh refuses a file by its mode: a key that
// belongs to its user and is accessible to group or others (sshkey_perm_ok in authfile.c of openssh-portable).
func providers() map[string]Provider {
	return map[string]Provider{
		"anthropic":   {EnvVars: []string{"ANTHROPIC_API_KEY"}},
		"aws":         {Dir: "~/.aws", Files: []string{"config", "credentials"}, EnvVars: []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}},
		"azure":       {Dir: "~/.azure", Files: []string{"clouds.config"}},
		"cohere":      {EnvVars: []string{"COHERE_API_KEY"}},
		"gcp":         {Dir: "~/.config/gcloud", Files: []string{"application_default_credentials.json"}, EnvVars: []string{"CLIENT_ID", "CLIENT_SECRET"}},
		"github":      {Dir: "~/.config/gh", Files: []string{"hosts.yml"}},
		"huggingface": {Dir: "~/.cache/huggingface", Files: []string{"token"}, EnvVars: []string{"HF_TOKEN"}, FileKey: "HF_TOKEN"},
		"kubernetes":  {Dir: "~/.kube", Files: []string{"config"}},
		"lambda":      {Dir: "~/.lambda_cloud", Files: []string{"lambda_keys"}},
		"langchain":   {EnvVars: []string{"LANGCHAIN_API_KEY"}},
		"openai":      {EnvVars: []string{"OPENAI_API_KEY"}},
		"pinecone":    {EnvVars: []string{"PINECONE_API_KEY"}},
		"ssh":         {Dir: "~/.ssh", Files: []string{"id_rsa"}, DefaultMode: "0400"},
		"wandb":       {EnvVars: []string{"WANDB_API_KEY"}},
	}
}

// Providers are the names of all providers, in order.
func Providers() []string { return slices.Sorted(maps.Keys(providers())) }

// ProviderNamed finds a provider.
func ProviderNamed(name string) (Provider, bool) {
	p, ok := providers()[name]
	return p, ok
}
