package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Packed is a file or folder as it is kept in a ConfigMap.
type Packed struct {
	// Name is its own name, without the folders that it is in.
	Name string
	// Folder says that Data is a gzipped tar archive of what is in the folder.
	Folder bool
	// Executable says that the file can be run.
	Executable bool
	// Project says that the folder is a Python project, which pip can install.
	Project bool
	Data    []byte
}

// PackFile packs one file.
func PackFile(name string, data []byte, mode fs.FileMode) Packed {
	return Packed{Name: name, Data: data, Executable: mode&0o111 != 0}
}

// PackFolder packs all that is in a folder, so that the same content gives the
// same bytes wherever it is packed: in order, without times and owners. What
// skip wants is left out, of a folder all that is in it; nil skips nothing. A
// folder that no ConfigMap holds is an error that names its biggest files.
func PackFolder(name string, folder fs.FS, skip func(name string) bool) (Packed, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	sizes := map[string]int{}
	err := fs.WalkDir(folder, ".", func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case at == ".":
			return nil
		case skip != nil && skip(path.Base(at)):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if sizes[at], err = appendEntry(archive, folder, at, entry); err == nil && out.Len() > MostBytes {
			err = fmt.Errorf("it is too big, and so far its biggest files are:\n%s", biggest(sizes))
		}
		return err
	})
	if err == nil {
		err = archive.Close()
	}
	if err == nil {
		err = zipped.Close()
	}
	return Packed{Name: name, Folder: true, Project: isProject(folder), Data: out.Bytes()}, err
}

// biggestFile is the size in bytes from which a file is not even tried.
const biggestFile = 64 << 20

// appendEntry returns the size of the file.
func appendEntry(archive *tar.Writer, folder fs.FS, at string, entry fs.DirEntry) (int, error) {
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
		return 0, fmt.Errorf("%s has %s, more than any ConfigMap holds", at, bytesText(int(info.Size())))
	case mode.IsRegular():
		header.Typeflag = tar.TypeReg
		if data, err = fs.ReadFile(folder, at); err != nil {
			return 0, err
		}
		header.Size = int64(len(data))
	case mode&fs.ModeSymlink != 0:
		header.Typeflag = tar.TypeSymlink
		if header.Linkname, err = fs.ReadLink(folder, at); err != nil {
			return 0, err
		}
	default:
		return 0, fmt.Errorf("%s is neither a file, a folder nor a link: remove it", at)
	}
	if err := archive.WriteHeader(header); err != nil {
		return 0, err
	}
	_, err = archive.Write(data)
	return len(data), err
}

// modeOf is what is kept of a mode: whether it can be run. The rest depends on
// the umask of whoever checked the files out.
func modeOf(mode fs.FileMode) fs.FileMode {
	if mode.IsDir() || mode&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

func isProject(folder fs.FS) bool {
	for _, name := range []string{"pyproject.toml", "setup.py"} {
		if info, err := fs.Stat(folder, name); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// Litter says whether a file or folder of this name in a package is of no use
// elsewhere: caches, environments, and what version control keeps.
func Litter(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", "__pycache__", ".venv", ".terraform", ".tox", ".ipynb_checkpoints", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".DS_Store":
		return true
	default:
		return strings.HasSuffix(name, ".pyc")
	}
}

// Digest is that of the content. For a folder it does not depend on how the
// archive is compressed, which may differ between releases.
func (p Packed) Digest() string {
	kind := "file"
	switch {
	case p.Folder:
		kind = "folder"
	case p.Executable:
		kind = "program"
	}
	return kind + " " + p.Name + " " + contentDigest(p.Data)
}

// contentDigest is the digest of bytes, those that they unpack to where they
// are gzipped.
func contentDigest(data []byte) string {
	h := sha256.New()
	if unzipped, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		if _, err := io.Copy(h, io.LimitReader(unzipped, mostUnpacked)); err == nil {
			return "sha256:" + hex.EncodeToString(h.Sum(nil))
		}
		h.Reset()
	}
	h.Write(data)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// mostUnpacked bounds the work that bytes of somebody else can cause, far above
// what a ConfigMap holds of anything but zeros.
const mostUnpacked = 256 << 20

func (p Packed) mode() string {
	if p.Executable {
		return "755"
	}
	return "644"
}

// isText says whether the bytes can be a value in data.
func (p Packed) isText() bool { return !p.Folder && utf8.Valid(p.Data) }

var notInKey = regexp.MustCompile(`[^-._a-zA-Z0-9]+`)

// keyName is the name as the end of a key of a ConfigMap.
func (p Packed) keyName() string {
	const longest = 100
	name := notInKey.ReplaceAllString(p.Name, "-")
	if len(name) > longest {
		name = name[:longest]
	}
	if p.Folder {
		name += ".tar.gz"
	}
	return name
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
