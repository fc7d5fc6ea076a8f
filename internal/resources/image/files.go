package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
)

// load packs everything local that a spec copies. The error is of type
// image.Errors.
func load(s image.Spec, d image.Dockerfile) (map[image.Source][]image.Packed, error) {
	packed := map[image.Source][]image.Packed{}
	var found image.Errors
	for _, needed := range image.Sources(s, d) {
		if _, done := packed[needed.Source]; done {
			continue
		}
		files, err := packAll(needed.Source)
		if err != nil {
			at := needed.At
			at.Detail = err.Error()
			found = append(found, &at)
		}
		packed[needed.Source] = files
	}
	if len(found) > 0 {
		return nil, found
	}
	return packed, nil
}

// packAll packs a path, or what matches a pattern where there is no such path.
func packAll(source image.Source) ([]image.Packed, error) {
	paths := []string{source.Path}
	if _, err := os.Stat(source.Path); errors.Is(err, fs.ErrNotExist) && !source.Package {
		matches, bad := filepath.Glob(source.Path)
		switch {
		case bad != nil:
			return nil, fmt.Errorf("%s is no pattern: %w", source.Path, bad)
		case len(matches) > 0:
			paths = matches // in order
		}
	}
	var out []image.Packed
	for _, path := range paths {
		one, err := pack(path, source.Package)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func pack(path string, isPackage bool) (image.Packed, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return image.Packed{}, err
	}
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return image.Packed{}, fmt.Errorf("there is no %s. Relative paths begin in the folder that Terraform runs in; write ${path.module}/… for a file of the module", path)
	case err != nil:
		return image.Packed{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	name := filepath.Base(full) // of . and .. too
	if info.IsDir() {
		var skip func(string) bool
		if isPackage {
			skip = image.Litter
		}
		packed, err := image.PackFolder(name, os.DirFS(full), skip)
		if err != nil {
			err = fmt.Errorf("folder %s cannot be packed: %w", path, err)
		}
		return packed, err
	}
	if !info.Mode().IsRegular() {
		return image.Packed{}, fmt.Errorf("%s is neither a file nor a folder", path)
	}
	if info.Size() > image.MostBytes {
		return image.Packed{}, fmt.Errorf("%s has %d KiB, and a ConfigMap holds %d KiB in all. Put it into the image itself or onto a kt_volume, or download it in a step", path, info.Size()>>10, image.MostBytes>>10)
	}
	data, err := os.ReadFile(full)
	if err != nil {
		return image.Packed{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return image.PackFile(name, data, info.Mode()), nil
}
