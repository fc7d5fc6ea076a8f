// Command image packs the static tensor-server binary into a container image
// with one layer, without a container engine. The archive has the format of
// `docker save`, which `docker load`, `podman load` and `ctr images import` can
// load. The output is reproducible.
package main

import (
	"bytes"
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
	var archive bytes.Buffer
	id, err := pack(&archive, content, arch, reference, version)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, archive.Bytes(), 0o644); err != nil { //nolint:gosec // world-readable, like the binary
		return err
	}
	fmt.Printf("%s: %s %s, %d bytes\n", out, reference, id, archive.Len())
	return nil
}

// architecture returns the architecture of the binary, and checks that it is statically linked.
func architecture(binary string) (string, error) {
	f, err := elf.Open(binary)
	if err != nil {
		return "", fmt.Errorf("%s is not a Linux binary: %w", binary, err)
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 {
		return "", fmt.Errorf("%s requires %v, which the image does not contain; build it with CGO_ENABLED=0", binary,
			libraries)
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	default:
		return "", fmt.Errorf("%s is for %s; only amd64 and arm64 are supported", binary, f.Machine)
	}
}
