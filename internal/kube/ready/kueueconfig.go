package ready

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// KueueConfig is what the configuration of Kueue says about the kinds that it manages (apis/config in
// sigs.k8s.io/kueue).
type KueueConfig struct {
	Integrations struct {
		Frameworks []string `json:"frameworks"`
		// ExternalFrameworks are kinds of other controllers, such as Job.v1.example.com.
		ExternalFrameworks []string `json:"externalFrameworks"`
	} `json:"integrations"`
}

// ParseKueueConfig parses a configuration of Kueue. It is empty if the text is none.
func ParseKueueConfig(text string) KueueConfig {
	var config KueueConfig
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return KueueConfig{}
	}
	return config
}

// Excludes reports whether the configuration lists kinds, but not this one.
func (k KueueConfig) Excludes(of schema.GroupKind) bool {
	external := func(framework string) bool { return strings.HasPrefix(framework, of.Kind+".") }
	return len(k.Integrations.Frameworks) > 0 &&
		!slices.Contains(k.Integrations.Frameworks, kind.KueueFramework(of)) &&
		!slices.ContainsFunc(k.Integrations.ExternalFrameworks, external)
}
