package provider_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const installed = "0.1.0"

// TestAccInstallFromMirrorsWithoutARegistry installs the provider as on machines without access to a registry, and
// then again in another directory with the lock file, which must not change. Nothing outside of this machine is
// requested: an installation method that is not configured would fail.
func TestAccInstallFromMirrorsWithoutARegistry(t *testing.T) {
	t.Parallel()
	archive := releaseArchive(t)
	directory := t.TempDir()
	at := filepath.Join(directory, acctest.ProviderHost(), "ktdev", "kt")
	if err := os.MkdirAll(at, 0o750); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		archiveName(): archive,
		"index.json":  fmt.Appendf(nil, `{"versions": {%q: {}}}`, installed),
		installed + ".json": fmt.Appendf(nil, `{"archives": {"%s_%s": {"url": %q, "hashes": ["zh:%x"]}}}`, runtime.GOOS,
			runtime.GOARCH, archiveName(), sha256.Sum256(archive)),
	} {
		if err := os.WriteFile(filepath.Join(at, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	site := httptest.NewTLSServer(http.FileServer(http.Dir(directory)))
	t.Cleanup(site.Close)
	authorities := authorityOf(site)
	methods := map[string]string{
		"a directory":  fmt.Sprintf("filesystem_mirror {\n    path = %q\n  }", directory),
		"a web server": fmt.Sprintf("network_mirror {\n    url = \"%s/\"\n  }", site.URL),
	}

	if acctest.ProviderHost() == "registry.opentofu.org" {
		images := httptest.NewTLSServer(registry.New())
		t.Cleanup(images.Close)
		address := strings.TrimPrefix(images.URL, "https://")
		push(t, images, "providers/ktdev/kt", archive)
		methods["an OCI registry"] = fmt.Sprintf(
			"oci_mirror {\n    repository_template = \"%s/providers/${namespace}/${type}\"\n    include = [%q]\n  }",
			address, acctest.ProviderHost()+"/*/*")
		authorities = append(authorities, authorityOf(images)...)
	}
	for name, method := range methods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := settled(t, method, string(authorities))
			cli.MustRun(t, "init")
			acctest.ExpectText(t, cli.MustRun(t, "validate"), "The configuration is valid")
			cli.MustRun(t, "providers", "lock", "-fs-mirror="+directory, "-platform="+runtime.GOOS+"_"+runtime.GOARCH)
			lock, err := os.ReadFile(filepath.Join(cli.Dir, ".terraform.lock.hcl"))
			if err != nil {
				t.Fatal(err)
			}
			again := settled(t, method, string(authorities))
			if err := os.WriteFile(filepath.Join(again.Dir, ".terraform.lock.hcl"), lock, 0o600); err != nil {
				t.Fatal(err)
			}
			again.MustRun(t, "init", "-lockfile=readonly")
			acctest.ExpectText(t, again.MustRun(t, "version"),
				"provider "+acctest.ProviderHost()+"/ktdev/kt v"+installed)
		})
	}
}

func archiveName() string {
	return fmt.Sprintf("terraform-provider-kt_%s_%s_%s.zip", installed, runtime.GOOS, runtime.GOARCH)
}

// releaseArchive returns the archive of a release with the binary of this build.
func releaseArchive(t *testing.T) []byte {
	t.Helper()
	binary, err := os.ReadFile(acctest.ProviderBinary())
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	header := &zip.FileHeader{Name: "terraform-provider-kt_v" + installed, Method: zip.Store}
	header.SetMode(0o755)
	file, err := w.CreateHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(binary); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// settled returns a working directory with one installation method, and the PEM of further authorities to trust.
func settled(t *testing.T, method, authorities string) *acctest.CLI {
	t.Helper()
	cli := acctest.NewCLI(t)
	settings := filepath.Join(t.TempDir(), "cli.tfrc")
	for path, text := range map[string]string{
		settings: "provider_installation {\n  " + method + "\n}\n",
		filepath.Join(cli.Dir, "main.tf"): fmt.Sprintf("terraform {\n  required_providers {\n    kt = {\n"+
			"      source  = \"ktdev/kt\"\n      version = %q\n    }\n  }\n}\n\nprovider \"kt\" {}\n\n"+
			"resource \"kt_compute\" \"a\" {\n  name = \"a\"\n}\n", installed),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cli.Setenv("TF_CLI_CONFIG_FILE", settings)
	if authorities != "" {
		bundle := filepath.Join(t.TempDir(), "authorities.pem")
		if err := os.WriteFile(bundle, []byte(authorities), 0o600); err != nil {
			t.Fatal(err)
		}
		cli.Setenv("SSL_CERT_FILE", bundle)
	}
	return cli
}

func authorityOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// push writes the artifact of a provider, as in https://opentofu.org/docs/cli/oci_registries/provider-mirror.
func push(t *testing.T, server *httptest.Server, repository string, archive []byte) {
	t.Helper()
	send := func(method, path, mediaType string, body []byte) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/v2/"+repository+path,
			bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", mediaType)
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusCreated {
			t.Fatalf("%s %s: %s", method, path, response.Status)
		}
	}
	describe := func(mediaType string, content []byte) map[string]any {
		return map[string]any{"mediaType": mediaType, "size": len(content),
			"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(content))}
	}
	blob := func(mediaType string, content []byte) map[string]any {
		descriptor := describe(mediaType, content)
		send(http.MethodPost, fmt.Sprintf("/blobs/uploads/?digest=%s", descriptor["digest"]),
			"application/octet-stream", content)
		return descriptor
	}
	manifest := func(name, mediaType string, fields map[string]any) map[string]any {
		fields["schemaVersion"], fields["mediaType"] = 2, mediaType
		content, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		descriptor := describe(mediaType, content)
		if name == "" {
			name = fmt.Sprint(descriptor["digest"])
		}
		send(http.MethodPut, "/manifests/"+name, mediaType, content)
		return descriptor
	}
	const target = "application/vnd.opentofu.provider-target"
	platform := manifest("", "application/vnd.oci.image.manifest.v1+json", map[string]any{
		"artifactType": target,
		"config":       blob("application/vnd.oci.empty.v1+json", []byte("{}")),
		"layers":       []any{blob("archive/zip", archive)},
	})
	platform["artifactType"] = target
	platform["platform"] = map[string]any{"os": runtime.GOOS, "architecture": runtime.GOARCH}
	manifest(installed, "application/vnd.oci.image.index.v1+json", map[string]any{
		"artifactType": "application/vnd.opentofu.provider", "manifests": []any{platform},
	})
}
