// Package registry asks container registries which digest a tag points to.
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
)

// timeLimit is how long one question may take, its authentication included.
// Plans wait for the answer.
const timeLimit = 8 * time.Second

// Resolver finds digests. It asks for each reference once, however many want
// to know, and remembers the answer, errors too: make a new one for each run.
type Resolver struct {
	keychain authn.Keychain

	mu      sync.Mutex
	answers map[string]*answer
}

// answer is what a registry says of one reference, once done is closed.
type answer struct {
	done   chan struct{}
	digest string
	err    error
}

// New makes a resolver that authenticates as docker and podman do: by their
// configuration files, DOCKER_CONFIG, REGISTRY_AUTH_FILE and credential helpers.
func New() *Resolver { return NewWith(authn.DefaultKeychain) }

// NewWith is New with other credentials.
func NewWith(keychain authn.Keychain) *Resolver {
	return &Resolver{keychain: keychain, answers: map[string]*answer{}}
}

// Pin is an image by its digest.
type Pin struct {
	Image  string // repository@sha256:…
	Digest string // sha256:…
}

// Resolve finds what an image reference points to now. Of an image for several
// platforms it is the digest of the index, so that each node finds its own. A
// reference that has a digest needs no registry. The error is an *Error, or
// that of ctx.
//
// Registries on localhost, on loopback and on private addresses are also tried
// without TLS.
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

// once asks for a reference, or waits for the answer of who asked first. The
// question goes on when one of those who wait is cancelled.
func (r *Resolver) once(ctx context.Context, ref string) (string, error) {
	r.mu.Lock()
	a, asked := r.answers[ref]
	if !asked {
		a = &answer{done: make(chan struct{})}
		r.answers[ref] = a
		go func() {
			defer close(a.done)
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeLimit)
			defer cancel()
			a.digest, a.err = r.ask(limited, ref)
		}()
	}
	r.mu.Unlock()
	select {
	case <-a.done:
		return a.digest, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (r *Resolver) ask(ctx context.Context, ref string) (string, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return "", &Error{Image: ref, Reason: Invalid, Err: err}
	}
	options := []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(r.keychain), remote.WithUserAgent("terraform-provider-kt"),
		remote.WithRetryBackoff(remote.Backoff{Duration: 300 * time.Millisecond, Factor: 1, Steps: 2}),
	}
	head, err := remote.Head(parsed, options...)
	if err == nil {
		return head.Digest.String(), nil
	}
	// An answer to HEAD has no body, and some registries leave the digest out
	// of it: the manifest itself has both.
	if reasonOf(err) == Unreachable {
		return "", &Error{Image: ref, Reason: Unreachable, Err: err}
	}
	got, err := remote.Get(parsed, options...)
	if err != nil {
		return "", &Error{Image: ref, Reason: reasonOf(err), Err: err}
	}
	return got.Digest.String(), nil
}

// Reason is why a digest was not found.
type Reason int

// The reasons.
const (
	// Unreachable: no answer, or none that a registry gives.
	Unreachable Reason = iota
	// Missing: the registry has no such image or tag, or does not show it.
	Missing
	// Refused: the credentials are missing, wrong, or have no right.
	Refused
	// Invalid: what was asked for is no image reference.
	Invalid
)

func reasonOf(err error) Reason {
	answered, ok := errors.AsType[*transport.Error](err)
	if !ok {
		// The library reports an answer without a digest as a plain error.
		if strings.Contains(err.Error(), "Docker-Content-Digest") {
			return Missing
		}
		return Unreachable
	}
	switch answered.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Refused
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return Missing
	default:
		return Unreachable
	}
}

// Error says why the digest of an image is not known.
type Error struct {
	Image  string
	Reason Reason
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("the digest of %s is not known: %v", e.Image, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Explain says what was seen and what to do.
func (e *Error) Explain() (summary, detail string) {
	hint := ""
	switch e.Reason {
	case Missing:
		summary, hint = "The registry has no such image", "Look at the name and the tag; a private repository also says this to those who are not logged in."
	case Refused:
		summary, hint = "The registry refuses to name the digest", "Log in where Terraform runs, as with docker login; DOCKER_CONFIG names another folder with a config.json."
	case Invalid:
		summary, hint = "The image reference is not valid", "Write it as registry/repository:tag."
	case Unreachable:
		summary, hint = "The registry cannot be reached", "See that Terraform runs where the registry and its proxy can be reached, or set pin_digest = false."
	}
	return summary, fmt.Sprintf("pin_digest needs the digest of %s. %v\n\n%s", e.Image, e.Err, hint)
}
