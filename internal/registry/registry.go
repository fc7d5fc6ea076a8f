// Package registry resolves image tags to digests through container registries.
package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/ktdev/terraform-provider-kt/internal/detach"
	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

// timeLimit is the timeout of all requests for one reference, including authentication. Plans wait for them.
const timeLimit = 8 * time.Second

// Resolver resolves digests. It requests each reference once, even for several
// callers, and caches results and errors. Create a new Resolver for each run.
type Resolver struct {
	keychain authn.Keychain
	results  sync.Map // of references to func() (digest string, err error)
}

// New returns a resolver that authenticates like docker and podman, with their
// configuration files, DOCKER_CONFIG, REGISTRY_AUTH_FILE and credential helpers.
func New() *Resolver { return NewWith(authn.DefaultKeychain) }

// NewWith returns a resolver with other credentials.
func NewWith(keychain authn.Keychain) *Resolver {
	return &Resolver{keychain: keychain}
}

// Pin is an image with its digest.
type Pin struct {
	Image  string // repository@sha256:…
	Digest string // sha256:…
}

// Resolve returns the current digest of an image reference. For a multi-platform image, it is the digest of the index,
// from which each node selects its platform. A reference with a digest requires no request. The error is an *Error, or
// the error of ctx.
//
// Registries at localhost, loopback addresses and private addresses are also tried without TLS. Credentials are sent
// without TLS only to localhost and loopback addresses.
func (r *Resolver) Resolve(ctx context.Context, image string) (Pin, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return Pin{}, &Error{Image: image, Reason: Invalid, Err: err}
	}
	repository := reference.FamiliarName(reference.TrimNamed(named))
	if digested, ok := named.(reference.Digested); ok {
		digest := digested.Digest().String()
		return Pin{Image: repository + "@" + digest, Digest: digest}, nil
	}
	digest, err := r.once(ctx, reference.TagNameOnly(named).String())
	if err != nil {
		if failed, ok := errors.AsType[*Error](err); ok {
			return Pin{}, &Error{Image: image, Reason: failed.Reason, Err: failed.Err}
		}
		return Pin{}, err
	}
	return Pin{Image: repository + "@" + digest, Digest: digest}, nil
}

// once requests a reference, or waits for the response to an earlier request. The request continues if a caller is
// cancelled, because others may wait for it.
func (r *Resolver) once(ctx context.Context, ref string) (string, error) {
	request, _ := r.results.LoadOrStore(ref, sync.OnceValues(func() (string, error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeLimit)
		defer cancel()
		return r.request(limited, ref)
	}))
	return detach.Call(ctx, request.(func() (string, error)), nil) //nolint:errcheck // nothing else is stored
}

// request returns the digest of a reference. It sends a failed request again once, after a short pause.
func (r *Resolver) request(ctx context.Context, ref string) (string, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return "", &Error{Image: ref, Reason: Invalid, Err: err}
	}
	credentials, err := r.credentials(ctx, parsed.Context())
	if err != nil {
		return "", &Error{Image: ref, Reason: NoCredentials, Err: err}
	}
	options := []remote.Option{
		remote.WithContext(ctx), remote.WithAuth(credentials), remote.WithUserAgent("terraform-provider-kt"),
		remote.WithTransport(guard{remote.DefaultTransport, credentials != authn.Anonymous}),
		remote.WithRetryBackoff(remote.Backoff{Duration: 300 * time.Millisecond, Factor: 1, Steps: 2}),
	}
	head, err := remote.Head(parsed, options...)
	if err == nil {
		return head.Digest.String(), nil
	}
	// A response to HEAD has no body, and some registries omit headers: request the manifest instead.
	if reasonOf(err) == Unreachable {
		return "", &Error{Image: ref, Reason: Unreachable, Err: err}
	}
	got, err := remote.Get(parsed, options...)
	if err != nil {
		return "", &Error{Image: ref, Reason: reasonOf(err), Err: err}
	}
	return got.Digest.String(), nil
}

// credentials returns the credentials for a repository. A credential helper is a program, which may fail or wait for
// input.
func (r *Resolver) credentials(ctx context.Context, repository name.Repository) (authn.Authenticator, error) {
	credentials, err := detach.Call(ctx, func() (authn.Authenticator, error) {
		return authn.Resolve(ctx, r.keychain, repository)
	}, nil)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("the credential helper did not respond within %s", timeLimit)
	}
	return credentials, err
}

// Reason is the reason why a digest could not be resolved.
type Reason int

// Reasons.
const (
	// Unreachable: no response, or an invalid one.
	Unreachable Reason = iota
	// Missing: the image or tag does not exist, or is not visible.
	Missing
	// Refused: the credentials are missing or invalid, or lack permission.
	Refused
	// Invalid: the image reference is invalid.
	Invalid
	// NoCredentials: the configuration of the credentials is invalid, or a credential helper failed.
	NoCredentials
)

func reasonOf(err error) Reason {
	failed, ok := errors.AsType[*transport.Error](err)
	if !ok {
		// The library reports a response without a header as a plain error.
		if strings.Contains(err.Error(), "response did not include") {
			return Missing
		}
		return Unreachable
	}
	switch failed.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Refused
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return Missing
	default:
		return Unreachable
	}
}

// Error reports why the digest of an image could not be resolved.
type Error struct {
	Image  string
	Reason Reason
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("cannot resolve the digest of %s: %s", e.Image, printable.Foreign(e.Err.Error()))
}

func (e *Error) Unwrap() error { return e.Err }
