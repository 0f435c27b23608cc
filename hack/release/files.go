package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var errNoFlag = errors.New("is required")

// fileOptions are the flags of the command files.
type fileOptions struct {
	// binaries, images, charts and definitions are folders: of programs by platform, of image archives, of charts, and of definitions.
	binaries, images, charts, definitions string
	// release is the release in the versions of the programs. out is the folder that is written.
	release, out string
}

func parseFileOptions(args []string) (fileOptions, error) {
	var o fileOptions
	flags := flag.NewFlagSet("files", flag.ContinueOnError)
	values := map[string]*string{
		"binaries": &o.binaries, "images": &o.images, "charts": &o.charts, "definitions": &o.definitions, "release": &o.release, "out": &o.out,
	}
	for name, value := range values {
		flags.StringVar(value, name, "", "see the Makefile")
	}
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("reading the flags of files: %w", err)
	}
	for name, value := range values {
		if *value == "" {
			return o, fmt.Errorf("--%s: %w", name, errNoFlag)
		}
	}
	return o, nil
}

// writeFiles writes everything that a release holds into a new folder, with checksums.
func writeFiles(o fileOptions) error {
	if err := os.RemoveAll(o.out); err != nil {
		return fmt.Errorf("removing the former files: %w", err)
	}
	if err := os.MkdirAll(o.out, executable); err != nil {
		return fmt.Errorf("making the folder of the release: %w", err)
	}
	charts, err := filepath.Glob(filepath.Join(o.charts, "*"))
	if err != nil {
		return fmt.Errorf("listing the charts: %w", err)
	}
	err = errors.Join(writePrograms(o), copyFiles(filepath.Join(o.images, "*.tar"), o.out, ".oci.tar"), packageCharts(o.out, charts),
		writeDefinitions(o))
	if err != nil {
		return err
	}
	return writeSums(o.out)
}

// writePrograms copies each program as NAME_OS_ARCHITECTURE, with its SBOM beside it.
func writePrograms(o fileOptions) error {
	files, err := fs.Glob(os.DirFS(o.binaries), "*/*")
	if err != nil {
		return fmt.Errorf("listing the programs: %w", err)
	}
	for _, file := range files {
		platform, name, _ := strings.Cut(file, "/")
		p, err := readProgram(o.binaries, name, strings.Replace(platform, "_", "/", 1))
		if err != nil {
			return err
		}
		if err := p.checkCommit(); err != nil {
			return err
		}
		p.release = o.release
		sbom, err := p.sbom()
		if err != nil {
			return err
		}
		target := filepath.Join(o.out, name+"_"+platform)
		if err := os.WriteFile(target, p.content, executable); err != nil {
			return fmt.Errorf("copying a program: %w", err)
		}
		if err := os.WriteFile(target+".cdx.json", sbom, readable); err != nil {
			return fmt.Errorf("writing the SBOM of %s: %w", name, err)
		}
	}
	return nil
}

// copyFiles copies files with another extension.
func copyFiles(pattern, out, extension string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("listing %s: %w", pattern, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("copying %s: %w", file, err)
		}
		target := filepath.Join(out, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))+extension)
		if err := os.WriteFile(target, content, readable); err != nil {
			return fmt.Errorf("copying %s: %w", file, err)
		}
	}
	return nil
}

// writeDefinitions writes all definitions of a hub into one file.
func writeDefinitions(o fileOptions) error {
	files, err := filepath.Glob(filepath.Join(o.definitions, "*.yaml"))
	if err != nil {
		return fmt.Errorf("listing the definitions: %w", err)
	}
	var out bytes.Buffer
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading a definition: %w", err)
		}
		if !bytes.HasPrefix(content, []byte("---\n")) {
			out.WriteString("---\n")
		}
		out.Write(content)
	}
	if err := os.WriteFile(filepath.Join(o.out, "definitions.yaml"), out.Bytes(), readable); err != nil {
		return fmt.Errorf("writing the definitions: %w", err)
	}
	return nil
}
