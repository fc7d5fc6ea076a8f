package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
)

// localSource reads files and environment variables of the machine that runs Terraform.
type localSource struct {
	home   string
	getenv func(string) string
}

// sourceDir contains files of one directory, by file name.
type sourceDir struct {
	dir   string // as in the configuration or the table of providers, with ~
	files map[string][]byte
}

var errNoFiles = errors.New("none of the files exists")

// read reads the named files of a directory, all of which must exist. Without names, it reads the usual files that
// exist, and returns errNoFiles if none does. Without either, it reads all files. A path may also be the path of one
// file.
func (m localSource) read(path string, names, usual []string) (sourceDir, error) {
	full, err := m.expand(path)
	if err != nil {
		return sourceDir{}, err
	}
	optional := len(names) == 0 && len(usual) > 0
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist) && optional:
		return sourceDir{}, errNoFiles
	case err != nil:
		return sourceDir{}, problem(path, err)
	case !info.IsDir() && len(names) > 0:
		return sourceDir{}, fmt.Errorf("%s is a file, not a directory: filenames selects files in a directory", path)
	case !info.IsDir():
		out, err := readFiles(filepath.Dir(full), []string{filepath.Base(full)}, false)
		out.dir = parent(path)
		return out, err
	case optional:
		names = usual
	case len(names) == 0:
		if names, err = listed(full); err != nil {
			return sourceDir{}, problem(path, err)
		}
		if len(names) == 0 {
			return sourceDir{}, fmt.Errorf("the directory %s contains no files, not counting subdirectories", path)
		}
	}
	out, err := readFiles(full, names, optional)
	out.dir = path
	return out, err
}

// parent returns the directory of a file, in the notation of the file.
func parent(path string) string {
	if dir := strings.TrimSuffix(path, filepath.Base(path)); dir != "" {
		return dir
	}
	return "."
}

// listed returns the names of the regular files of a directory, and of links to regular files.
func listed(dir string) ([]string, error) {
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

// readFiles checks the sizes before it reads anything, because a path may refer to a data set by mistake.
func readFiles(dir string, names []string, optional bool) (sourceDir, error) {
	out := sourceDir{files: map[string][]byte{}}
	var there, missing []string
	total, largest, size := 0, "", -1
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name)
			continue
		case err != nil:
			return out, problem(filepath.Join(dir, name), err)
		case !info.Mode().IsRegular():
			return out, fmt.Errorf("%s is not a regular file", filepath.Join(dir, name))
		}
		there = append(there, name)
		total += int(info.Size())
		if int(info.Size()) > size {
			largest, size = name, int(info.Size())
		}
	}
	switch {
	case optional && len(there) == 0:
		return out, errNoFiles
	case !optional && len(missing) > 0:
		return out, fmt.Errorf("the directory %s has no file %s", dir, strings.Join(missing, ", "))
	case total > corev1.MaxSecretSize:
		return out, spec.TooLargeError(total, largest, size)
	}
	for _, name := range there {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return out, problem(filepath.Join(dir, name), err)
		}
		out.files[name] = content
	}
	return out, nil
}

// expand replaces ~ by the home directory.
func (m localSource) expand(path string) (string, error) {
	rest, inHome := strings.CutPrefix(path, "~")
	switch {
	case !inHome:
		return path, nil
	case rest != "" && !strings.HasPrefix(rest, "/"):
		return "", fmt.Errorf("%s is the home directory of another user, which is not supported: set the absolute path",
			path)
	case m.home == "":
		return "", fmt.Errorf("%s cannot be resolved: HOME is not set on the machine that runs Terraform", path)
	}
	return filepath.Join(m.home, rest), nil
}

// variables returns the values of environment variables, by key. The error lists all variables that are not set.
func (m localSource) variables(byKey map[string]string) (map[string][]byte, error) {
	out := map[string][]byte{}
	var missing []string
	for key, name := range byKey {
		if value := m.getenv(name); value != "" {
			out[key] = []byte(value)
		} else {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("not set, or empty, in the environment of Terraform: %s", strings.Join(missing, ", "))
	}
	return out, nil
}

// problem describes an error of a file, with the path in the notation of the user.
func problem(path string, err error) error {
	var cause *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist on the machine that runs Terraform", path)
	case errors.As(err, &cause):
		return fmt.Errorf("%s cannot be read: %w", path, cause.Err)
	}
	return err
}
