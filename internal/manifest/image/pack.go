package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Packed is a file or directory in the form in which a ConfigMap contains it.
type Packed struct {
	// Name is the base name.
	Name string
	// Directory reports whether Data is a gzipped tar archive of a directory's content.
	Directory bool
	// Executable reports whether the file is executable.
	Executable bool
	// Project reports whether the directory is a Python project, which pip can install.
	Project bool
	Data    []byte
}

// PackFile packs one file.
func PackFile(name string, data []byte, mode fs.FileMode) Packed {
	return Packed{Name: name, Data: data, Executable: mode&0o111 != 0}
}

// PackDirectory packs the content of a directory. The result is reproducible: entries
// are sorted and have no times or owners. Files and directories for which skip
// returns true are excluded; a nil skip excludes nothing. For a directory that is
// too large for a ConfigMap, the error lists its largest files.
func PackDirectory(name string, directory fs.FS, skip func(directory fs.FS, at string) bool) (Packed, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	sizes := map[string]int{}
	err := fs.WalkDir(directory, ".", func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case at == ".":
			return nil
		case skip != nil && skip(directory, at):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if sizes[at], err = appendEntry(archive, directory, at, entry); err == nil && out.Len() > MostBytes {
			err = fmt.Errorf("it is too large for a ConfigMap. Its largest files so far:\n%s", biggest(sizes))
		}
		return err
	})
	if err == nil {
		err = archive.Close()
	}
	if err == nil {
		err = zipped.Close()
	}
	return Packed{Name: name, Directory: true, Project: isProject(directory), Data: out.Bytes()}, err
}

// biggestFile is the size in bytes above which a file is rejected without being read.
const biggestFile = 64 << 20

// appendEntry appends a file or directory to an archive, and returns the size of the file.
func appendEntry(archive *tar.Writer, directory fs.FS, at string, entry fs.DirEntry) (int, error) {
	info, err := entry.Info()
	if err != nil {
		return 0, err
	}
	header := &tar.Header{Name: at, Mode: int64(modeOf(info.Mode())), Format: tar.FormatPAX}
	var data []byte
	switch mode := info.Mode(); {
	case mode.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, at+"/"
	case mode.IsRegular() && info.Size() > biggestFile:
		return 0, fmt.Errorf("%s is %s, which is too large for a ConfigMap", at, bytesText(int(info.Size())))
	case mode.IsRegular():
		header.Typeflag = tar.TypeReg
		if data, err = fs.ReadFile(directory, at); err != nil {
			return 0, err
		}
		header.Size = int64(len(data))
	case mode&fs.ModeSymlink != 0:
		header.Typeflag = tar.TypeSymlink
		if header.Linkname, err = fs.ReadLink(directory, at); err != nil {
			return 0, err
		}
	default:
		return 0, fmt.Errorf("%s is neither a file, a directory nor a link: remove it", at)
	}
	if err := archive.WriteHeader(header); err != nil {
		return 0, err
	}
	_, err = archive.Write(data)
	return len(data), err
}

// modeOf normalizes a mode: it preserves only whether the file is executable.
// Other bits depend on the umask of the working copy.
func modeOf(mode fs.FileMode) fs.FileMode {
	if mode.IsDir() || mode&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

func isProject(directory fs.FS) bool {
	return slices.ContainsFunc([]string{"pyproject.toml", "setup.py"}, func(name string) bool {
		info, err := fs.Stat(directory, name)
		return err == nil && info.Mode().IsRegular()
	})
}

// IsTerraformState reports whether a file is a state or a plan of Terraform, by its
// name or by the content of a plan. Both contain secret values, and an apply changes
// them, so that an image with the working directory would never be up to date.
func IsTerraformState(directory fs.FS, at string) bool {
	return strings.Contains(path.Base(at), ".tfstate") || strings.HasSuffix(at, ".tfplan") ||
		path.Base(at) == "tfplan" || isSavedPlan(directory, at)
}

// isSavedPlan reports whether a regular file is a zip archive whose first entry is
// tfplan, or the JSON in which OpenTofu encrypts a plan. It reads only the start.
func isSavedPlan(directory fs.FS, at string) bool {
	start := make([]byte, 36) // of a zip archive: up to the name of the entry, whose length is at offset 26
	if info, err := fs.Lstat(directory, at); err == nil && info.Mode().IsRegular() {
		if file, err := directory.Open(at); err == nil { // an error is reported when the file is packed
			_, _ = io.ReadFull(file, start)
			_ = file.Close()
		}
	}
	return string(start[:4]) == "PK\x03\x04" && start[26] == 6 && string(start[30:]) == "tfplan" ||
		strings.HasPrefix(string(start), `{"meta":{"key_provider.`)
}

// Excluded reports whether a file or directory is excluded from a package: caches,
// virtual environments, metadata of version control, and Terraform's state.
func Excluded(directory fs.FS, at string) bool {
	excluded := []string{".git", ".hg", ".svn", "__pycache__", ".venv", ".terraform", ".tox", ".ipynb_checkpoints",
		".pytest_cache", ".mypy_cache", ".ruff_cache", ".DS_Store"}
	return slices.Contains(excluded, path.Base(at)) || strings.HasSuffix(at, ".pyc") || IsTerraformState(directory, at)
}

// Digest returns the digest of the content. The digest of a directory does not
// depend on the compression of the archive, which may differ between releases.
func (p Packed) Digest() string {
	kind := "file"
	switch {
	case p.Directory:
		kind = "folder" // changing it would change the digests of all setups
	case p.Executable:
		kind = "program"
	}
	return kind + " " + p.Name + " " + contentDigest(p.Data)
}

// contentDigest returns the digest of data, or of the decompressed data if it is
// gzipped.
func contentDigest(data []byte) string {
	h := sha256.New()
	if unzipped, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		if _, err := io.Copy(h, io.LimitReader(unzipped, mostUnpacked)); err == nil {
			return fmt.Sprintf("sha256:%x", h.Sum(nil))
		}
		h.Reset()
	}
	h.Write(data)
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// mostUnpacked limits the decompression of foreign data. Real content of a
// ConfigMap decompresses to much less.
const mostUnpacked = 256 << 20

func (p Packed) mode() string {
	if p.Executable {
		return "755"
	}
	return "644"
}

// isText reports whether the content can be a value in data rather than binaryData.
func (p Packed) isText() bool { return !p.Directory && utf8.Valid(p.Data) }

var notInKey = regexp.MustCompile(`[^-._a-zA-Z0-9]+`)

// keyName returns the name in a form that is valid in a ConfigMap key.
func (p Packed) keyName() string {
	const longest = 100
	name := notInKey.ReplaceAllString(p.Name, "-")
	if len(name) > longest {
		name = name[:longest]
	}
	if p.Directory {
		name += ".tar.gz"
	}
	return name
}
