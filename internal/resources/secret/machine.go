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

// machine is the one that runs Terraform, as far as a secret can come from it.
type machine struct {
	home   string
	getenv func(string) string
}

// folder is the content of some files of one folder, by file name.
type folder struct {
	dir   string // as the configuration or the provider names it, with ~
	files map[string][]byte
}

var errNothingThere = errors.New("none of its files is there")

// read reads the named files of a folder, all of which must be there; else the
// usual ones that are, and errNothingThere where none is; else all. A path may
// also be that of one file.
func (m machine) read(path string, names, usual []string) (folder, error) {
	full, err := m.expand(path)
	if err != nil {
		return folder{}, err
	}
	optional := len(names) == 0 && len(usual) > 0
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist) && optional:
		return folder{}, errNothingThere
	case err != nil:
		return folder{}, problem(path, err)
	case !info.IsDir() && len(names) > 0:
		return folder{}, fmt.Errorf("%s is a file, not a folder: filenames are those of files in a folder", path)
	case !info.IsDir():
		out, err := readFiles(filepath.Dir(full), []string{filepath.Base(full)}, false)
		out.dir = parent(path)
		return out, err
	case optional:
		names = usual
	case len(names) == 0:
		if names, err = listed(full); err != nil {
			return folder{}, problem(path, err)
		}
		if len(names) == 0 {
			return folder{}, fmt.Errorf("the folder %s has no files; those of subfolders do not count", path)
		}
	}
	out, err := readFiles(full, names, optional)
	out.dir = path
	return out, err
}

// parent is the folder of a file, in the words in which the file is named.
func parent(path string) string {
	if dir := strings.TrimSuffix(path, filepath.Base(path)); dir != "" {
		return dir
	}
	return "."
}

// listed are the names of the regular files of a folder, or of links to such.
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

// readFiles looks at the sizes before it reads anything: a path may lead to a
// data set by mistake.
func readFiles(dir string, names []string, optional bool) (folder, error) {
	out := folder{files: map[string][]byte{}}
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
		return out, errNothingThere
	case !optional && len(missing) > 0:
		return out, fmt.Errorf("the folder %s has no file %s", dir, strings.Join(missing, ", "))
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

// expand puts the home folder in the place of ~.
func (m machine) expand(path string) (string, error) {
	rest, inHome := strings.CutPrefix(path, "~")
	switch {
	case !inHome:
		return path, nil
	case rest != "" && !strings.HasPrefix(rest, "/"):
		return "", fmt.Errorf("%s is the home folder of another user, which is not looked up: give the whole path", path)
	case m.home == "":
		return "", fmt.Errorf("%s cannot be found: the machine that runs Terraform has no home folder (HOME is not set)", path)
	}
	return filepath.Join(m.home, rest), nil
}

// variables are the values of environment variables, by key. Where one is not
// set, the error names all that are not.
func (m machine) variables(byKey map[string]string) (map[string][]byte, error) {
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

// problem says what is wrong with a file by the name that the user knows.
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
