package secret

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
)

// localSource reads files and environment variables of the machine that runs Terraform.
type localSource struct {
	home   string
	getenv func(string) string
}

// directory contains files of one directory, by file name.
type directory struct {
	path  string // as in the configuration or the table of providers, with ~
	files map[string][]byte
}

var errNoFiles = errors.New("none of the files exists")

// read reads the named files of a directory, all of which must exist. Without names, it reads the usual files that
// exist, and returns errNoFiles if none does. Without either, it reads all files. A path may also be the path of one
// file.
func (s localSource) read(path string, names, usual []string) (directory, error) {
	full, err := s.expand(path)
	if err != nil {
		return directory{}, err
	}
	optional := len(names) == 0 && len(usual) > 0
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist) && optional:
		return directory{}, errNoFiles
	case err != nil:
		return directory{}, fileError(path, err)
	case !info.IsDir() && len(names) > 0:
		return directory{}, fmt.Errorf("%s is a file, not a directory: filenames selects files in a directory", path)
	case !info.IsDir():
		dir, _ := filepath.Split(path) // which keeps a ~
		path, full, names, optional = cmp.Or(dir, "."), filepath.Dir(full), []string{filepath.Base(full)}, false
	case optional:
		names = usual
	case len(names) == 0:
		if names, err = regularFiles(full); err != nil {
			return directory{}, fileError(path, err)
		}
		if len(names) == 0 {
			return directory{}, fmt.Errorf("the directory %s contains no files, not counting subdirectories", path)
		}
	}
	out, err := readFiles(full, names, optional)
	out.path = path
	return out, err
}

// regularFiles returns the names of the regular files of a directory, and of links to regular files.
func regularFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if info, err := os.Stat(filepath.Join(dir, entry.Name())); err == nil && info.Mode().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// readFiles reads files of a directory. If they are optional, it skips those that do not exist, and returns errNoFiles
// if none exists. It checks the sizes first, because a path may refer to a data set by mistake.
func readFiles(dir string, names []string, optional bool) (directory, error) {
	out := directory{files: map[string][]byte{}}
	var missing []string
	sizes := map[string]int{}
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name)
			continue
		case err != nil:
			return out, fileError(filepath.Join(dir, name), err)
		case !info.Mode().IsRegular():
			return out, fmt.Errorf("%s is not a regular file", filepath.Join(dir, name))
		}
		sizes[name] = int(info.Size())
	}
	switch err := spec.CheckSize(sizes); {
	case optional && len(sizes) == 0:
		return out, errNoFiles
	case !optional && len(missing) > 0:
		return out, fmt.Errorf("the directory %s has no file %s", dir, strings.Join(missing, ", "))
	case err != nil:
		return out, err
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return out, fileError(filepath.Join(dir, name), err)
		}
		out.files[name] = content
	}
	return out, nil
}

// expand replaces ~ by the home directory.
func (s localSource) expand(path string) (string, error) {
	rest, inHome := strings.CutPrefix(path, "~")
	switch {
	case !inHome:
		return path, nil
	case rest != "" && !strings.HasPrefix(rest, "/"):
		return "", fmt.Errorf("%s is the home directory of another user, which is not supported: set the absolute path",
			path)
	case s.home == "":
		return "", fmt.Errorf("%s cannot be resolved: HOME is not set on the machine that runs Terraform", path)
	}
	return filepath.Join(s.home, rest), nil
}

// variables returns the values of environment variables, by key. The error lists where the names of all variables that
// are not set are configured. It does not contain the names: a name may be a value that was set by mistake.
func (s localSource) variables(byKey map[string]string) (map[string][]byte, error) {
	out := map[string][]byte{}
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if value := s.getenv(byKey[key]); value != "" {
			out[key] = []byte(value)
		} else {
			missing = append(missing, fmt.Sprintf("from_env[%q]", key))
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the variable named in %s is not set, or is empty, in the environment of Terraform",
			strings.Join(missing, " and in "))
	}
	return out, nil
}

// fileError adds the path to the error of a file operation, an [fs.PathError], instead of the absolute one.
func fileError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist on the machine that runs Terraform", path)
	}
	return fmt.Errorf("%s cannot be read: %w", path, errors.Unwrap(err))
}
