package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	plantedSource = "hack/lint/testdata/planted"
	plantedTree   = "bin/lint/planted"
	modulePath    = "github.com/berth-project/berth"
)

// buildTree copies the tree and the repository's own configuration to a folder and makes a workspace of two modules of it, as in the
// repository. It writes a stub for every package that is imported and missing.
func buildTree(tree string) error {
	if err := os.CopyFS(tree, os.DirFS(plantedSource)); err != nil {
		return err
	}
	config, err := os.ReadFile(".golangci.yml")
	if err != nil {
		return err
	}
	if err := write(filepath.Join(tree, ".golangci.yml"), string(config)); err != nil {
		return err
	}
	imports, err := importsOf(tree)
	if err != nil {
		return err
	}
	var replace strings.Builder
	for imported := range imports {
		switch module, isRoot := strings.CutPrefix(imported, modulePath+"/"); {
		case isRoot:
			err = stubPackage(tree, module)
		case strings.Contains(strings.Split(imported, "/")[0], "."):
			var line string
			line, err = stubModule(tree, imported)
			replace.WriteString(line)
		}
		if err != nil {
			return err
		}
	}
	for dir, module := range map[string]string{".": modulePath, "hub": modulePath + "/hub"} {
		if err := write(filepath.Join(tree, dir, "go.mod"), "module "+module+"\n\ngo 1.26.0\n"+replace.String()); err != nil {
			return err
		}
	}
	return write(filepath.Join(tree, "go.work"), "go 1.26.0\n\nuse (\n\t.\n\t./hub\n)\n")
}

func importsOf(tree string) (map[string]bool, error) {
	imports := map[string]bool{}
	err := walk(tree, ".go", func(name string, data []byte) error {
		file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports[imported] = true
		}
		return nil
	})
	return imports, err
}

// stubPackage writes an empty package of this repository where the tree has none.
func stubPackage(tree, dir string) error {
	dir = filepath.Join(tree, filepath.FromSlash(dir))
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	return write(filepath.Join(dir, "stub.go"), stub(path.Base(filepath.ToSlash(dir))))
}

var (
	versionElement = regexp.MustCompile(`^v\d+$`)
	notIdentifier  = regexp.MustCompile(`[^A-Za-z0-9]`)
)

// stubModule writes a module with one empty package and returns the lines of a go.mod that lead to it.
func stubModule(tree, imported string) (string, error) {
	module, inner := imported, ""
	if versionElement.MatchString(path.Base(imported)) {
		module, inner = path.Dir(imported), path.Base(imported)
	}
	dir := filepath.Join(tree, ".stub", notIdentifier.ReplaceAllString(imported, "_"))
	if err := write(filepath.Join(dir, "go.mod"), "module "+module+"\n\ngo 1.26.0\n"); err != nil {
		return "", err
	}
	if err := write(filepath.Join(dir, inner, "stub.go"), stub(path.Base(imported))); err != nil {
		return "", err
	}
	return fmt.Sprintf("\nrequire %s v0.0.0\nreplace %s => %s\n", module, module, dir), nil
}

func stub(name string) string {
	name = notIdentifier.ReplaceAllString(name, "")
	return fmt.Sprintf("// Package %s is a stub.\npackage %s\n\n// Empty lets a file use the import.\nconst Empty = 0\n", name, name)
}

func write(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}

// walk visits the files with an extension below a folder, with their paths relative to it.
func walk(tree, ext string, visit func(name string, data []byte) error) error {
	return filepath.WalkDir(tree, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ext {
			return err
		}
		data, err := os.ReadFile(filepath.Clean(name))
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(tree, name)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(relative), data)
	})
}
