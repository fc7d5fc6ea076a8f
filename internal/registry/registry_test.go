package registry

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// testRegistry is a real in-memory registry on a loopback address.
type testRegistry struct {
	t         *testing.T
	server    *httptest.Server
	host      string
	manifests atomic.Int64 // requests for manifests
	// intercept handles a request instead of the registry if it returns true.
	intercept func(http.ResponseWriter, *http.Request) bool
}

func serve(t *testing.T, intercept func(http.ResponseWriter, *http.Request) bool) *testRegistry {
	t.Helper()
	s := &testRegistry{t: t, intercept: intercept}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, "/manifests/") &&
			(req.Method == http.MethodHead || req.Method == http.MethodGet) {
			s.manifests.Add(1)
		}
		if s.intercept == nil || !s.intercept(w, req) {
			handler.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(s.server.Close)
	s.host = strings.TrimPrefix(s.server.URL, "http://")
	return s
}

// push pushes a new image to a tag and returns its digest.
func (s *testRegistry) push(tag string, options ...remote.Option) string {
	s.t.Helper()
	img, err := random.Image(64, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	ref, err := name.ParseReference(s.host + "/" + tag)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := remote.Write(ref, img, options...); err != nil {
		s.t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil {
		s.t.Fatal(err)
	}
	s.manifests.Store(0)
	return digest.String()
}

// fromResolver reports whether a request was sent by a Resolver, and not by push.
func fromResolver(req *http.Request) bool {
	return strings.Contains(req.Header.Get("User-Agent"), "terraform-provider-kt")
}

type noKeychain struct{}

func (noKeychain) Resolve(authn.Resource) (authn.Authenticator, error) { return authn.Anonymous, nil }

func TestTagIsPinnedToItsDigest(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	digest := s.push("team/torch:2.5")
	pin, err := NewWith(noKeychain{}).Resolve(t.Context(), s.host+"/team/torch:2.5")
	if err != nil || pin.Digest != digest || pin.Image != s.host+"/team/torch@"+digest {
		t.Errorf("%+v, %v; want %s", pin, err, digest)
	}
	if requests := s.manifests.Load(); requests != 1 {
		t.Errorf("%d requests, want 1", requests)
	}
	latest := s.push("team/torch")
	pin, err = NewWith(noKeychain{}).Resolve(t.Context(), s.host+"/team/torch")
	if err != nil || pin.Digest != latest {
		t.Errorf("without a tag: %+v, %v; want the digest of latest, %s", pin, err, latest)
	}
}

func TestDigestRequiresNoRegistry(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("a", 64)
	for image, want := range map[string]string{
		"python@" + digest: "python@" + digest, "127.0.0.1:1/a/b:tag@" + digest: "127.0.0.1:1/a/b@" + digest,
		"docker.io/library/python@" + digest: "python@" + digest,
	} {
		pin, err := NewWith(noKeychain{}).Resolve(t.Context(), image)
		if err != nil || pin.Digest != digest || pin.Image != want {
			t.Errorf("%s: %+v, %v", image, pin, err)
		}
	}
}

func TestMultiPlatformImageIsPinnedToItsIndex(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	var index v1.ImageIndex = empty.Index
	for _, arch := range []string{"amd64", "arm64"} {
		img, err := random.Image(64, 1)
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	ref, err := name.ParseReference(s.host + "/multi:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	want, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	pin, err := NewWith(noKeychain{}).Resolve(t.Context(), s.host+"/multi:1")
	if err != nil || pin.Digest != want.String() {
		t.Errorf("%+v, %v; want the index, %s", pin, err, want)
	}
}

func TestRunRequestsEachReferenceOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	before := s.push("a:1")
	other := s.push("a:2")
	r := NewWith(noKeychain{})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if pin, err := r.Resolve(t.Context(), s.host+"/a:1"); err != nil || pin.Digest != before {
				t.Errorf("%+v, %v", pin, err)
			}
		})
	}
	all.Go(func() {
		if pin, err := r.Resolve(t.Context(), s.host+"/a:2"); err != nil || pin.Digest != other {
			t.Errorf("%+v, %v", pin, err)
		}
	})
	all.Wait()
	if requests := s.manifests.Load(); requests != 2 {
		t.Errorf("%d requests, want 2", requests)
	}
	updated := s.push("a:1")
	if pin, err := r.Resolve(t.Context(), s.host+"/a:1"); err != nil || pin.Digest != before {
		t.Errorf("the same run: %+v, %v; want the earlier result", pin, err)
	}
	if pin, err := NewWith(noKeychain{}).Resolve(t.Context(), s.host+"/a:1"); err != nil || pin.Digest != updated {
		t.Errorf("the next run: %+v, %v; want the new digest of the tag, %s", pin, err, updated)
	}
}

// requirePassword requires a user and a password, with basic authentication.
func requirePassword(w http.ResponseWriter, req *http.Request) bool {
	if user, password, ok := req.BasicAuth(); ok && user == "ci" && password == "canary" {
		return false
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
	w.WriteHeader(http.StatusUnauthorized)
	return true
}

// login is the keychain of a client that is logged in to one registry.
type login struct{ host, user, password string }

func (l login) Resolve(resource authn.Resource) (authn.Authenticator, error) {
	if resource.RegistryStr() != l.host {
		return authn.Anonymous, nil
	}
	return &authn.Basic{Username: l.user, Password: l.password}, nil
}

func TestCredentialsAreSentToTheirRegistryAndNotShown(t *testing.T) {
	t.Parallel()
	s := serve(t, requirePassword)
	digest := s.push("private:1", remote.WithAuth(&authn.Basic{Username: "ci", Password: "canary"}))
	pin, err := NewWith(login{s.host, "ci", "canary"}).Resolve(t.Context(), s.host+"/private:1")
	if err != nil || pin.Digest != digest {
		t.Errorf("%+v, %v; want %s", pin, err, digest)
	}
	for name, keychain := range map[string]authn.Keychain{"no credentials": noKeychain{},
		"a wrong password": login{s.host, "ci", "wrong-canary"}} {
		_, err := NewWith(keychain).Resolve(t.Context(), s.host+"/private:1")
		failed, ok := errors.AsType[*Error](err)
		if !ok || failed.Reason != Refused {
			t.Errorf("%s: %v, want the reason Refused", name, err)
			continue
		}
		if !strings.Contains(err.Error(), s.host+"/private:1") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorStatesWhyADigestCannotBeResolved(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.push("there:1")
	broken := serve(t, func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	down := serve(t, nil)
	down.server.Close()
	for image, want := range map[string]struct {
		reason  Reason
		message string
	}{
		s.host + "/there:2":     {Missing, "MANIFEST_UNKNOWN"},
		s.host + "/nowhere:1":   {Missing, "NAME_UNKNOWN"},
		down.host + "/there:1":  {Unreachable, "connection refused"},
		broken.host + "/here:1": {Unreachable, "500"},
		"UPPER/case":            {Invalid, "could not parse reference"},
		"":                      {Invalid, "invalid reference"},
	} {
		_, err := NewWith(noKeychain{}).Resolve(t.Context(), image)
		failed, ok := errors.AsType[*Error](err)
		if !ok || failed.Reason != want.reason || failed.Image != image {
			t.Errorf("%s: %v, want reason %d", image, err, want.reason)
			continue
		}
		if !strings.Contains(err.Error(), want.message) || !strings.Contains(err.Error(), "the digest of "+image) {
			t.Errorf("%s: %v, want a message that contains %s", image, err, want.message)
		}
	}
}

func TestMessageOfARegistryIsIndentedAndLimited(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, req *http.Request) bool {
		if req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/manifests/") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"errors":[{"code":"DENIED","message":"no\u001b[2J\nApply complete!`+
				strings.Repeat("x", 10_000)+`"}]}`)
			return true
		}
		if req.Method == http.MethodHead && strings.Contains(req.URL.Path, "/manifests/") {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return true
		}
		return false
	})
	_, err := NewWith(noKeychain{}).Resolve(t.Context(), s.host+"/old:1")
	if err == nil || !strings.Contains(err.Error(), "no\n  Apply complete!x") || len(err.Error()) > 5000 {
		t.Errorf("%.200q", err)
	}
}

func TestManifestIsRequestedFromARegistryWithoutHead(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, req *http.Request) bool {
		if fromResolver(req) && req.Method == http.MethodHead && strings.Contains(req.URL.Path, "/manifests/") {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return true
		}
		return false
	})
	digest := s.push("old:1")
	if pin, err := NewWith(noKeychain{}).Resolve(t.Context(), s.host+"/old:1"); err != nil || pin.Digest != digest {
		t.Errorf("%+v, %v; want %s", pin, err, digest)
	}
}

func TestManifestIsRequestedIfTheResponseToHeadLacksHeaders(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"Content-Type", "Content-Length", "Docker-Content-Digest"} {
		s := serve(t, func(w http.ResponseWriter, req *http.Request) bool {
			if !fromResolver(req) || req.Method != http.MethodHead || !strings.Contains(req.URL.Path, "/manifests/") {
				return false
			}
			for name, value := range map[string]string{
				"Content-Type": "application/vnd.oci.image.manifest.v1+json", "Content-Length": "100",
				"Docker-Content-Digest": "sha256:" + strings.Repeat("0", 64),
			} {
				w.Header()[name] = []string{value}
			}
			w.Header()[header] = nil // the server of the standard library does not add it then
			w.WriteHeader(http.StatusOK)
			return true
		})
		digest := s.push("terse:1")
		pin, err := NewWith(noKeychain{}).Resolve(t.Context(), s.host+"/terse:1")
		if err != nil || pin.Digest != digest {
			t.Errorf("without %s: %+v, %v; want %s", header, pin, err, digest)
		}
	}
}

// helper is a credential helper.
type helper func() (authn.Authenticator, error)

func (h helper) Resolve(authn.Resource) (authn.Authenticator, error) { return h() }

func TestFailedCredentialHelperIsReportedAsThat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		for want, keychain := range map[string]helper{
			"exit status 1": func() (authn.Authenticator, error) { return nil, errors.New("exit status 1") },
			"the credential helper did not respond within 8s": func() (authn.Authenticator, error) {
				<-release
				return authn.Anonymous, nil
			},
		} {
			_, err := NewWith(keychain).Resolve(t.Context(), "registry.example.com/a:1")
			failed, ok := errors.AsType[*Error](err)
			if !ok || failed.Reason != NoCredentials || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		close(release)
	})
}

func TestCancelledCallerDoesNotCancelTheRequest(t *testing.T) {
	t.Parallel()
	release, requested := make(chan struct{}), make(chan struct{}, 10)
	s := serve(t, func(_ http.ResponseWriter, req *http.Request) bool {
		if fromResolver(req) && strings.Contains(req.URL.Path, "/manifests/") {
			requested <- struct{}{}
			<-release
		}
		return false
	})
	digest := s.push("slow:1")
	r := NewWith(noKeychain{})
	ctx, cancel := context.WithCancel(t.Context())
	canceled := make(chan error, 1)
	go func() {
		_, err := r.Resolve(ctx, s.host+"/slow:1")
		canceled <- err
	}()
	<-requested
	cancel()
	if err := <-canceled; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled caller: %v", err)
	}
	close(release)
	if pin, err := r.Resolve(t.Context(), s.host+"/slow:1"); err != nil || pin.Digest != digest {
		t.Errorf("other caller: %+v, %v; want %s", pin, err, digest)
	}
}
