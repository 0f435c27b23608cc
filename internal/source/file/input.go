package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// DefaultLimit is the total number of bytes that a Loader without Limit reads: 256 MiB.
	DefaultLimit = 256 << 20

	stdinName  = "-"
	stdinTitle = "standard input"
)

// input reads files one after another and counts their bytes.
type input struct {
	stdin     io.Reader
	recursive bool
	remaining int64
	limit     int64
	stdinUsed bool
}

var errTooLarge = errors.New("too much input")

// Expand returns the files that names stand for, in their order: each name itself, or the files of a folder sorted by name.
func (l Loader) Expand(names []string) ([]string, error) {
	in := input{recursive: l.Recursive}
	var out []string
	for _, name := range names {
		files, err := in.expand(name)
		if err != nil {
			return nil, FaultsError{{Position: Position{File: title(name)}, Err: err}}
		}
		out = append(out, files...)
	}
	return out, nil
}

// expand returns the files that a name stands for: itself, or the files of a folder sorted by name.
func (i *input) expand(name string) ([]string, error) {
	if name == stdinName {
		if i.stdinUsed {
			return nil, errors.New("is given twice; it can be read once")
		}
		i.stdinUsed = true
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, unreadable(err)
	case !info.IsDir():
		return []string{name}, nil
	}
	found, err := i.list(name)
	if err != nil {
		return nil, unreadable(err)
	}
	if len(found) == 0 {
		return nil, errors.New("has no .yaml, .yml or .json file" + i.recursionHint())
	}
	return found, nil
}

func (i *input) recursionHint() string {
	if i.recursive {
		return " in it or below"
	}
	return "; -R looks in the folders below too"
}

// list returns the manifest files of a folder sorted by name, including those of subfolders if recursive. A link to a file
// counts as a file. A link to a folder is not followed, so that no cycle is possible.
func (i *input) list(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		switch {
		case entry.IsDir() && i.recursive:
			below, err := i.list(path)
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
		case entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path))):
		default:
			if info, err := os.Stat(path); err != nil || !info.IsDir() {
				out = append(out, path)
			}
		}
	}
	return out, nil
}

// read returns the content of a file, or of standard input.
func (i *input) read(name string) ([]byte, error) {
	reader := i.stdin
	if name != stdinName {
		file, err := os.Open(name)
		if err != nil {
			return nil, unreadable(err)
		}
		defer func() { _ = file.Close() }()
		reader = file
	}
	data, err := io.ReadAll(io.LimitReader(reader, i.remaining+1))
	if err != nil {
		return nil, unreadable(err)
	}
	if i.remaining -= int64(len(data)); i.remaining < 0 {
		return nil, fmt.Errorf("%w: at most %s are read in all; give fewer files, or leave out kinds that placements do not read",
			errTooLarge, size(i.limit))
	}
	return data, nil
}

func size(bytes int64) string {
	const mebi = 1 << 20
	if bytes%mebi == 0 {
		return fmt.Sprintf("%d MiB", bytes/mebi)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// unreadable returns the reason why a file cannot be read, with advice. The position of the fault holds the path.
func unreadable(err error) error {
	reason := err
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		reason = path.Err
	}
	advice := "check that it is a file or a folder that can be read"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		advice = "check the path"
	case errors.Is(err, fs.ErrPermission):
		advice = "get permission to read it"
	}
	return fmt.Errorf("cannot be read: %w; %s", reason, advice)
}

func title(name string) string {
	if name == stdinName {
		return stdinTitle
	}
	return name
}
