package realnode

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// pauseBinary returns a complete Linux program for amd64: one segment, which waits for signals forever. Creating it
// here avoids a second binary that must be built and distributed.
func pauseBinary() ([]byte, error) {
	code := []byte{
		0xb8, 34, 0, 0, 0, // mov eax, 34: the system call pause
		0x0f, 0x05, // syscall
		0xeb, 0xf7, // jmp to the first instruction
	}
	const address = 0x400000 // the conventional load address of Linux programs
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
			byte(elf.EV_CURRENT)},
		Type:      uint16(elf.ET_EXEC),
		Machine:   uint16(elf.EM_X86_64),
		Version:   uint32(elf.EV_CURRENT),
		Phnum:     1,
		Shentsize: uint16(binary.Size(elf.Section64{})),
	}
	segment := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: address, Paddr: address,
		Align: 0x1000}
	header.Ehsize, header.Phentsize = uint16(binary.Size(header)), uint16(binary.Size(segment))
	header.Phoff = uint64(header.Ehsize)
	start := uint64(header.Ehsize + header.Phentsize)
	header.Entry = address + start
	segment.Filesz = start + uint64(len(code))
	segment.Memsz = segment.Filesz

	var program bytes.Buffer
	for _, part := range []any{header, segment, code} {
		if err := binary.Write(&program, binary.LittleEndian, part); err != nil {
			return nil, fmt.Errorf("write the pause program: %w", err)
		}
	}
	return program.Bytes(), nil
}

// pauseArchive returns PauseImage in the format of `docker save`: a configuration, one layer and a manifest
// (https://github.com/moby/docker-image-spec/blob/v1.3.1/v1.2.md#combined-image-json--filesystem-changeset-format).
func pauseArchive() ([]byte, error) {
	program, err := pauseBinary()
	if err != nil {
		return nil, err
	}
	layer, err := tarball(entry{"pause", 0o755, program})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(layer)
	config, err := json.Marshal(map[string]any{
		"architecture": "amd64",
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": []string{"/pause"}},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal([]map[string]any{
		{"Config": "config.json", "RepoTags": []string{PauseImage}, "Layers": []string{"layer.tar"}},
	})
	if err != nil {
		return nil, err
	}
	return tarball(entry{"config.json", 0o644, config}, entry{"layer.tar", 0o644, layer},
		entry{"manifest.json", 0o644, manifest})
}

type entry struct {
	name    string
	mode    int64
	content []byte
}

func tarball(entries ...entry) ([]byte, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, e := range entries {
		if err := w.WriteHeader(&tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return archive.Bytes(), err
}
