// Command image packs the static tensor-server binary into a container image
// of one layer, without a container engine: an archive that `docker load`,
// `podman load` and `ctr images import` take. It holds the OCI image layout
// (https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md)
// and beside it Docker's manifest.json. The same binary gives the same bytes.
package main

import (
	"debug/elf"
	"flag"
	"fmt"
	"log"
	"os"
)

func main() {
	binary := flag.String("binary", "bin/tensor-server", "the static binary")
	version := flag.String("version", "dev", "version, the image's tag")
	name := flag.String("name", "ghcr.io/ktdev/tensor-server", "name of the image, without its tag")
	out := flag.String("o", "bin/tensor-server.tar", "archive to write")
	flag.Parse()
	if err := run(*binary, *name+":"+*version, *version, *out); err != nil {
		log.Fatal(err)
	}
}

func run(binary, reference, version, out string) error {
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	arch, err := architecture(binary)
	if err != nil {
		return err
	}
	archive, digest, err := pack(content, arch, reference, version)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, archive, 0o644); err != nil { //nolint:gosec // for all to read, as the binary is
		return err
	}
	fmt.Printf("%s: %s %s, %d bytes\n", out, reference, digest, len(archive))
	return nil
}

// architecture reads for which machine the binary is, and that it needs nothing beside itself.
func architecture(binary string) (string, error) {
	f, err := elf.Open(binary)
	if err != nil {
		return "", fmt.Errorf("%s is no Linux binary: %w", binary, err)
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 {
		return "", fmt.Errorf("%s needs %v, which the image has not; build it with CGO_ENABLED=0", binary, libraries)
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	default:
		return "", fmt.Errorf("%s is for %s; images are made for amd64 and arm64", binary, f.Machine)
	}
}
