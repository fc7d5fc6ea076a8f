package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
)

// load packs all local files and directories that a spec copies. The error has the type [manifest.Errors].
func load(s image.Spec, d image.Dockerfile) (map[image.Source][]image.Packed, error) {
	packed := map[image.Source][]image.Packed{}
	var found manifest.Errors
	for _, needed := range image.Sources(s, d) {
		if _, done := packed[needed.Source]; done {
			continue
		}
		files, err := packAll(needed.Source)
		if err != nil {
			found = append(found, needed.At.Problem(err))
		}
		packed[needed.Source] = files
	}
	if len(found) > 0 {
		return nil, found
	}
	return packed, nil
}

// packAll packs a path. If it does not exist, it packs the paths that match it
// as a pattern.
func packAll(source image.Source) ([]image.Packed, error) {
	paths := []string{source.Path}
	if _, err := os.Stat(source.Path); errors.Is(err, fs.ErrNotExist) && !source.Package {
		matches, globErr := filepath.Glob(source.Path)
		matches = slices.DeleteFunc(matches, func(path string) bool {
			return image.IsTerraformState(os.DirFS(filepath.Dir(path)), filepath.Base(path))
		})
		switch {
		case globErr != nil:
			return nil, fmt.Errorf("invalid pattern %s: %w", source.Path, globErr)
		case len(matches) > 0:
			paths = matches // sorted
		}
	}
	var out []image.Packed
	for _, path := range paths {
		packed, err := pack(path, source.Package)
		if err != nil {
			return nil, err
		}
		out = append(out, packed)
	}
	return out, nil
}

// pack packs one file or directory under its base name. A directory is packed without Terraform's state, and a package
// without the files that [image.Excluded] reports.
func pack(path string, isPackage bool) (image.Packed, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return image.Packed{}, err
	}
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return image.Packed{}, fmt.Errorf("%s does not exist. Relative paths are resolved from the working directory "+
			"of Terraform. For a file of the module, use ${path.module}/…", path)
	case err != nil:
		return image.Packed{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	name := filepath.Base(full) // "." and ".." have no name of their own
	if info.IsDir() {
		skip := image.IsTerraformState
		if isPackage {
			skip = image.Excluded
		}
		packed, err := image.PackDirectory(name, os.DirFS(full), skip)
		if err != nil {
			err = fmt.Errorf("cannot pack directory %s: %w", path, err)
		}
		return packed, err
	}
	if !info.Mode().IsRegular() {
		return image.Packed{}, fmt.Errorf("%s is neither a file nor a directory", path)
	}
	if info.Size() > image.MostBytes {
		return image.Packed{}, fmt.Errorf("%s is %d KiB, but a ConfigMap can contain only %d KiB in total. Add the "+
			"file to the image or to a kt_volume, or download it in a step", path, info.Size()>>10, image.MostBytes>>10)
	}
	data, err := os.ReadFile(full)
	if err != nil {
		return image.Packed{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return image.PackFile(name, data, info.Mode()), nil
}
