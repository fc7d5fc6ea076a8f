package tf

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/registry"
)

// RegistryFailure converts an error of a registry to a diagnostic at the attribute that needs the digest: a warning if
// there is a consequence to report, otherwise an error. withoutDigest is what to do where the registry cannot be
// reached.
func RegistryFailure(err error, at path.Path, withoutDigest, consequence string) diag.Diagnostic {
	failed, ok := errors.AsType[*registry.Error](err)
	if !ok || errors.Is(err, context.Canceled) {
		return diag.WithPath(at, Failure(err))
	}
	texts := map[registry.Reason]struct{ summary, next string }{
		registry.Missing: {"Image not found in the registry",
			"Check the name and the tag. For a private repository, log in, because registries also report this to " +
				"clients that are not logged in."},
		registry.Refused: {"Registry access denied",
			"Log in where Terraform runs, for example with docker login. To use another directory with a " +
				"config.json, set DOCKER_CONFIG."},
		registry.NoCredentials: {"Cannot read the credentials of the registry",
			"Check the credential helper that config.json of docker or podman names for this registry: it must work " +
				"where Terraform runs, without input. To use another directory with a config.json, set DOCKER_CONFIG."},
		registry.Invalid: {"Invalid image reference", "Use the form registry/repository:tag."},
		registry.Unreachable: {"Cannot reach the registry",
			"Run Terraform where the registry and its proxy are reachable, or " + withoutDigest + "."},
	}[failed.Reason]
	detail := fmt.Sprintf("The registry did not return the digest of %s. %v\n\nNext step: %s", failed.Image, failed.Err,
		texts.next)
	if consequence == "" {
		return diag.NewAttributeErrorDiagnostic(at, texts.summary, detail)
	}
	return diag.NewAttributeWarningDiagnostic(at, texts.summary, detail+"\n\n"+consequence)
}
