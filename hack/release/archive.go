package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// readable is the mode of files that every user may read.
const readable = 0o644

// bundle is what a release has of one program: an index of its images, and their SBOMs.
type bundle struct {
	name, tag string
	index     v1.ImageIndex
	// images has an image for each platform, artifacts the SBOM of each, as the registry stores it.
	images, artifacts []v1.Image
	// sboms are the SBOMs by platform, such as "linux_amd64".
	sboms map[string][]byte
}

// newBundle builds the images of the programs of one name, one for each platform.
func newBundle(programs []*program) (*bundle, error) {
	out := &bundle{name: programs[0].name, tag: programs[0].tag(), sboms: map[string][]byte{}}
	out.index = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		image, err := p.image()
		if err != nil {
			return nil, err
		}
		sbom, err := p.sbom()
		if err != nil {
			return nil, err
		}
		subject, err := partial.Descriptor(image)
		if err != nil {
			return nil, fmt.Errorf("describing the image of %s: %w", p.name, err)
		}
		artifact, err := sbomArtifact(sbom, *subject)
		if err != nil {
			return nil, err
		}
		out.index = mutate.AppendManifests(out.index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p.platform}})
		out.images, out.artifacts = append(out.images, image), append(out.artifacts, artifact)
		out.sboms[p.platform.OS+"_"+p.platform.Architecture] = sbom
	}
	return out, nil
}

// write writes the archive FOLDER/NAME.tar and the SBOMs beside it. The archive is an OCI image layout, which containerd, podman and skopeo
// import.
func (b *bundle) write(folder string) error {
	if err := os.MkdirAll(folder, executable); err != nil {
		return fmt.Errorf("making the folder of the images: %w", err)
	}
	for platform, sbom := range b.sboms {
		file := filepath.Join(folder, b.name+"_"+platform+".cdx.json")
		if err := os.WriteFile(file, sbom, readable); err != nil {
			return fmt.Errorf("writing the SBOM of %s: %w", b.name, err)
		}
	}
	temporary, err := os.MkdirTemp("", "layout")
	if err != nil {
		return fmt.Errorf("making a folder for the layout of %s: %w", b.name, err)
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // a folder below the temporary one
	if err := b.layout(temporary); err != nil {
		return err
	}
	return archiveFolder(temporary, filepath.Join(folder, b.name+".tar"))
}

// layout writes an OCI image layout to a folder.
func (b *bundle) layout(folder string) error {
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return fmt.Errorf("writing the layout of %s: %w", b.name, err)
	}
	reference := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": b.name + ":" + b.tag})
	if err := path.AppendIndex(b.index, reference); err != nil {
		return fmt.Errorf("writing the images of %s: %w", b.name, err)
	}
	for _, artifact := range b.artifacts {
		if err := path.AppendImage(artifact); err != nil {
			return fmt.Errorf("writing the SBOMs of %s: %w", b.name, err)
		}
	}
	return nil
}

// archiveFolder writes the files below a folder to a tar archive, in the order of their names, without times and owners.
func archiveFolder(folder, file string) error {
	return createFile(file, func(out io.Writer) error { return writeTar(out, os.DirFS(folder), "") })
}

// createFile creates a file with what write writes.
func createFile(file string, write func(io.Writer) error) error {
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("making the archive: %w", err)
	}
	if err := errors.Join(write(out), out.Close()); err != nil {
		return fmt.Errorf("archiving %s: %w", file, err)
	}
	return nil
}

// writeTar writes the files of a file system to a tar archive, their names with a prefix.
func writeTar(out io.Writer, root fs.FS, prefix string) error {
	writer := tar.NewWriter(out)
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		return archiveEntry(writer, root, path, prefix, entry)
	})
	return errors.Join(err, writer.Close())
}

func archiveEntry(writer *tar.Writer, root fs.FS, path, prefix string, entry fs.DirEntry) error {
	if entry.IsDir() {
		//nolint:wrapcheck // the caller names the archive
		return writer.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: prefix + path + "/", Mode: executable, Format: tar.FormatPAX})
	}
	info, err := entry.Info()
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: prefix + path, Mode: readable, Size: info.Size(), Format: tar.FormatPAX}
	if err := writer.WriteHeader(header); err != nil {
		return err //nolint:wrapcheck // the caller names the archive
	}
	content, err := root.Open(path)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	defer content.Close() //nolint:errcheck // read only
	_, err = io.Copy(writer, content)
	return err //nolint:wrapcheck // the caller names the archive
}
