package main

import (
	"bytes"
	"debug/buildinfo"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const host = "linux/amd64"

// build builds a small program without dependencies into a folder as the Makefile fills it.
func build(t *testing.T, platforms ...string) string {
	t.Helper()
	source, out := t.TempDir(), t.TempDir()
	write(t, filepath.Join(source, "go.mod"), "module example.com/hello\n\ngo 1.26.0\n")
	write(t, filepath.Join(source, "main.go"), "package main\n\nfunc main() { println(\"hello\") }\n")
	for _, platform := range platforms {
		system, architecture, _ := strings.Cut(platform, "/")
		command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(out, system+"_"+architecture, "hello"), ".")
		command.Dir = source
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture, "GOWORK=off")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("building for %s: %v\n%s", platform, err, output)
		}
	}
	return out
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), readable); err != nil {
		t.Fatal(err)
	}
}

func TestImagesArePushedWithTheirSBOMs(t *testing.T) {
	binaries := build(t, host, "linux/arm64")
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true)))
	defer server.Close()
	repository := strings.TrimPrefix(server.URL, "http://") + "/fleet"
	args := []string{
		"image", "--binaries", binaries, "--out", t.TempDir(), "--programs", "hello", "--push", repository, "--tag", "v1",
		"--insecure",
	}
	if err := run(args, io.Discard); err != nil {
		t.Fatal(err)
	}

	reference, err := name.ParseReference(repository+"/hello:v1", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, image := range manifest.Manifests {
		platforms = append(platforms, image.Platform.String())
		referrers, err := remote.Referrers(reference.Context().Digest(image.Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		list, err := referrers.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Manifests) != 1 {
			t.Errorf("the image for %s has %d referrers, want its SBOM", image.Platform, len(list.Manifests))
		}
	}
	if diff := cmp.Diff([]string{host, "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms of the index (-want +got):\n%s", diff)
	}
}

func TestAnImageRunsItsProgramWithoutPrivileges(t *testing.T) {
	p, err := readProgram(build(t, host), "hello", host)
	if err != nil {
		t.Fatal(err)
	}
	image, err := p.image()
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{
		User: "65532:65532", Entrypoint: []string{"/usr/local/bin/hello"}, Env: []string{"PATH=/usr/local/bin"}, WorkingDir: "/",
		Labels: p.labels(),
	}
	if diff := cmp.Diff(want, file.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("the image has %d layers (%v), want one", len(layers), err)
	}
}

func TestEqualProgramsMakeEqualArchives(t *testing.T) {
	binaries := build(t, host)
	var archives [2][]byte
	for i := range archives {
		out := t.TempDir()
		if err := run([]string{"image", "--binaries", binaries, "--out", out, "--programs", "hello", "--platforms", host}, io.Discard); err !=
			nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(out, "hello.tar"))
		if err != nil {
			t.Fatal(err)
		}
		archives[i] = content
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two archives of the same program differ")
	}
}

func TestAnArchiveIsAnImageLayout(t *testing.T) {
	out := t.TempDir()
	args := []string{"image", "--binaries", build(t, host), "--out", out, "--programs", "hello", "--platforms", host}
	if err := run(args, io.Discard); err != nil {
		t.Fatal(err)
	}
	unpacked := t.TempDir()
	if output, err := exec.CommandContext(t.Context(), "tar", "-C", unpacked, "-xf", filepath.Join(out, "hello.tar")).CombinedOutput(); err !=
		nil {
		t.Fatalf("unpacking: %v\n%s", err, output)
	}
	path, err := layout.FromPath(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 2 {
		t.Errorf("the layout has %d entries, want the images and one SBOM", len(manifest.Manifests))
	}
	if reference := manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; !strings.HasPrefix(reference, "hello:") {
		t.Errorf("the images are named %q, want hello and its version", reference)
	}
}

func TestABinaryForAnotherPlatformIsRefused(t *testing.T) {
	binaries := build(t, "linux/arm64")
	if err := os.Rename(filepath.Join(binaries, "linux_arm64"), filepath.Join(binaries, "linux_amd64")); err != nil {
		t.Fatal(err)
	}
	_, err := readProgram(binaries, "hello", host)
	if err == nil || !strings.Contains(err.Error(), "GOARCH=arm64") {
		t.Errorf("got %v, want an error that names GOARCH=arm64", err)
	}
}

func TestAnSBOMListsTheModules(t *testing.T) {
	p, err := readProgram(build(t, host), "hello", host)
	if err != nil {
		t.Fatal(err)
	}
	sbom, err := p.sbom()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"bomFormat": "CycloneDX"`, `"name": "example.com/hello"`, `"purl": "pkg:golang/std@1.26`} {
		if !bytes.Contains(sbom, []byte(want)) {
			t.Errorf("the SBOM lacks %s:\n%s", want, sbom)
		}
	}
}

func TestAnSBOMNamesModulesOfTheRepository(t *testing.T) {
	p := &program{release: "v0.1.0", info: &buildinfo.BuildInfo{
		Main: debug.Module{Path: "example.com/all", Version: "v0.1.0"},
		Deps: []*debug.Module{
			{Path: "example.com/all/api", Version: "v0.0.9", Replace: &debug.Module{Path: "./api"}},
			{Path: "example.com/a", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/b", Version: "v1.0.1"}},
		},
	}}
	sbom, err := p.sbom()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"purl": "pkg:golang/example.com/all/api@v0.1.0"`, `"purl": "pkg:golang/example.com/b@v1.0.1"`} {
		if !bytes.Contains(sbom, []byte(want)) {
			t.Errorf("the SBOM lacks %s:\n%s", want, sbom)
		}
	}
}

func TestSumsAreCheckedBySha256sum(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "b"), "two")
	write(t, filepath.Join(folder, "a"), "one")
	if err := run([]string{"sums", folder}, io.Discard); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", sumsFile)
	command.Dir = folder
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("checking: %v\n%s", err, output)
	}
	if diff := cmp.Diff("a: OK\nb: OK\n", string(output)); diff != "" {
		t.Errorf("checked files (-want +got):\n%s", diff)
	}
}

func TestAReleaseHoldsEverythingAndIsReproducible(t *testing.T) {
	_, _ = os.Getenv("BERTH_AREA_CHARTS"), os.Getenv("BERTH_AREA_CONFIG_CRD") // what it packs, see internal/checkout
	binaries := build(t, host, "linux/arm64")
	image := func(out string) []string {
		return []string{"image", "--binaries", binaries, "--out", out, "--programs", "hello", "--release", "v0.1.0", "--tag", "v0.1.0"}
	}
	var sums [2]string
	var listed []string
	for i := range sums {
		images, out := t.TempDir(), filepath.Join(t.TempDir(), "dist")
		if err := run(image(images), io.Discard); err != nil {
			t.Fatal(err)
		}
		args := []string{
			"files", "--binaries", binaries, "--images", images, "--charts", "../../charts", "--definitions", "../../config/crd", "--release",
			"v0.1.0", "--out", out,
		}
		if err := run(args, io.Discard); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(out, sumsFile))
		if err != nil {
			t.Fatal(err)
		}
		sums[i], listed = string(content), nil
		for line := range strings.Lines(sums[i]) {
			listed = append(listed, strings.Fields(line)[1])
		}
	}
	if diff := cmp.Diff(sums[0], sums[1]); diff != "" {
		t.Errorf("two releases of the same programs differ:\n%s", diff)
	}
	want := []string{
		"berth-0.1.0.tgz", "berth-agent-0.1.0.tgz", "definitions.yaml", "hello.oci.tar",
		"hello_linux_amd64", "hello_linux_amd64.cdx.json", "hello_linux_arm64", "hello_linux_arm64.cdx.json",
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("files of the release (-want +got):\n%s", diff)
	}
}

func TestTheVersionOfACommitNamesItsRelease(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	tests := map[string]struct{ module, modified, want string }{
		"a tag":                    {"v0.1.0", "false", "v0.1.0"},
		"a commit without a tag":   {"v0.0.0-20261120100000-0123456789ab", "false", "v0.1.0+0123456789ab"},
		"a commit with changes":    {"v0.0.0-20261120100000-0123456789ab+dirty", "true", "v0.1.0+0123456789ab.dirty"},
		"no version of the module": {"(devel)", "false", "v0.1.0+0123456789ab"},
	}
	for name, test := range tests {
		p := &program{release: "v0.1.0", info: &buildinfo.BuildInfo{Main: debug.Module{Version: test.module}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: test.modified},
		}}}
		if got := p.version(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestAReleaseIsBuiltFromACommit(t *testing.T) {
	commit, clean := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"},
		debug.BuildSetting{Key: "vcs.modified", Value: "false"}
	tests := map[string]struct {
		path     string
		settings []debug.BuildSetting
		want     string
	}{
		"a commit":                    {module, []debug.BuildSetting{commit, clean}, ""},
		"a commit of the hub":         {module + "/hub", []debug.BuildSetting{commit, clean}, ""},
		"without version control":     {module, nil, "does not name its commit"},
		"changes":                     {module, []debug.BuildSetting{commit, {Key: "vcs.modified", Value: "true"}}, "a tree with changes"},
		"a program of another module": {"example.com/hello", nil, ""},
	}
	for name, test := range tests {
		p := &program{name: "berth", info: &buildinfo.BuildInfo{Main: debug.Module{Path: test.path}, Settings: test.settings}}
		err := p.checkCommit()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
