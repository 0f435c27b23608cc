package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// programFolder is where the program is in its image. PATH is this folder.
	programFolder = "usr/local/bin"
	// user runs the program. It has no name, because the image has no other file.
	user = "65532:65532"
	// executable is the mode of the program and of folders.
	executable = 0o755
	// development is the version of a module that the toolchain gives none.
	development = "devel"
	// shortRevision is how many characters of a commit are in a version.
	shortRevision = 12
)

// program is one binary for one platform.
type program struct {
	name     string
	platform v1.Platform
	content  []byte
	info     *buildinfo.BuildInfo
	// release is the release in the version of a commit without a tag; empty for the version that the toolchain gives it.
	release string
}

// readProgram reads the binary of a program for a platform such as "linux/amd64", and what the Go toolchain recorded in it. A binary that
// was built for another platform, or that needs a C library, is an error.
func readProgram(binaries, name, platform string) (*program, error) {
	parsed, err := v1.ParsePlatform(platform)
	if err != nil {
		return nil, fmt.Errorf("parsing the platform %q: %w", platform, err)
	}
	file := filepath.Join(binaries, strings.ReplaceAll(platform, "/", "_"), name)
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s for %s: %w", name, platform, err)
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("reading the build information of %s: %w", file, err)
	}
	out := &program{name: name, platform: *parsed, content: content, info: info}
	for key, want := range map[string]string{"GOOS": parsed.OS, "GOARCH": parsed.Architecture, "CGO_ENABLED": "0"} {
		if got := out.setting(key); got != want {
			return nil, fmt.Errorf("%s was built with %s=%s; an image for %s needs %s=%s", file, key, got, platform, key, want)
		}
	}
	return out, nil
}

// setting returns a build setting; empty if the binary has none.
func (p *program) setting(key string) string {
	for _, setting := range p.info.Settings {
		if setting.Key == key {
			return setting.Value
		}
	}
	return ""
}

// version returns the version of the program, as the program itself prints it: that of its module, which the toolchain takes from the tag
// of the commit. Without a tag it is the release with the commit.
func (p *program) version() string {
	out, revision := strings.Trim(p.info.Main.Version, "()"), p.setting("vcs.revision")
	if p.release == "" || len(revision) < shortRevision || out != development && !strings.Contains(out, revision[:shortRevision]) {
		return out
	}
	out = p.release + "+" + revision[:shortRevision]
	if p.setting("vcs.modified") == "true" {
		out += ".dirty"
	}
	return out
}

// checkCommit returns an error unless the program was built from a commit without changes, so that its version is true. Programs of other
// modules are not checked.
func (p *program) checkCommit() error {
	switch {
	case !strings.HasPrefix(p.info.Main.Path, module):
		return nil
	case p.setting("vcs.revision") == "":
		return fmt.Errorf("%s does not name its commit: build in a clone of the repository, not in a git worktree or an unpacked archive", p.name)
	case p.setting("vcs.modified") != "false":
		return fmt.Errorf("%s was built from a tree with changes: commit them first", p.name)
	default:
		return nil
	}
}

// tag returns the version as a tag of an image, in which "+" is not allowed.
func (p *program) tag() string {
	return strings.ReplaceAll(p.version(), "+", "-")
}

// image returns an image with nothing but the program. It runs without privileges and writes nothing of its own.
func (p *program) image() (v1.Image, error) {
	layer, err := p.layer()
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: p.platform.OS, Architecture: p.platform.Architecture, Variant: p.platform.Variant,
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: user, Entrypoint: []string{"/" + programFolder + "/" + p.name}, Env: []string{"PATH=/" + programFolder}, WorkingDir: "/",
			Labels: p.labels(),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("configuring the image of %s: %w", p.name, err)
	}
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer})
	if err != nil {
		return nil, fmt.Errorf("adding %s to its image: %w", p.name, err)
	}
	return image, nil
}

// labels are the predefined keys of the OCI image specification.
func (p *program) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    p.name,
		"org.opencontainers.image.version":  p.version(),
		"org.opencontainers.image.revision": p.setting("vcs.revision"),
		"org.opencontainers.image.licenses": license,
		"org.opencontainers.image.source":   "https://" + module,
	}
}

// layer returns the files of the image. Times are zero and owners root, so that equal programs make equal layers.
func (p *program) layer() (v1.Layer, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for folder := range folders(programFolder) {
		if err := writer.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: executable, Format: tar.FormatPAX}); err !=
			nil {
			return nil, fmt.Errorf("archiving the folder %s: %w", folder, err)
		}
	}
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: programFolder + "/" + p.name, Mode: executable, Size: int64(len(p.content)),
		Format: tar.FormatPAX,
	}
	if err := writer.WriteHeader(header); err != nil {
		return nil, fmt.Errorf("archiving %s: %w", p.name, err)
	}
	if _, err := writer.Write(p.content); err != nil {
		return nil, fmt.Errorf("archiving %s: %w", p.name, err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("archiving %s: %w", p.name, err)
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("compressing %s: %w", p.name, err)
	}
	return layer, nil
}

// folders yields a path and the folders above it, the highest first.
func folders(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, letter := range path + "/" {
			if letter == '/' && !yield(path[:i]) {
				return
			}
		}
	}
}
