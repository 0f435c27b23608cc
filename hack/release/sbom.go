package main

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	module  = "github.com/berth-project/berth"
	license = "Apache-2.0"
	// sbomType is the media type of an SBOM in CycloneDX's JSON form.
	sbomType = "application/vnd.cyclonedx+json"
	// emptyType is the media type of the empty configuration of an artifact, by the OCI image specification 1.1.
	emptyType = "application/vnd.oci.empty.v1+json"
)

// sbom returns the software bill of materials of a program, in CycloneDX's JSON form. It lists the release of Go and every linked module,
// with its version and checksum. It has no time and no serial number, so equal programs have equal ones.
func (p *program) sbom() ([]byte, error) {
	components := []cyclonedx.Component{goComponent(&debug.Module{Path: "std", Version: strings.TrimPrefix(p.info.GoVersion, "go")})}
	for _, dependency := range p.info.Deps {
		switch {
		case dependency.Replace == nil:
		case strings.HasPrefix(dependency.Replace.Path, "."): // a module of this repository
			dependency = &debug.Module{Path: dependency.Path, Version: p.version()}
		default:
			dependency = dependency.Replace
		}
		components = append(components, goComponent(dependency))
	}
	main := goComponent(&p.info.Main)
	main.Type = cyclonedx.ComponentTypeApplication
	main.Licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: license}}}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &main}
	bom.Components = &components
	var out bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return nil, fmt.Errorf("encoding the SBOM of %s: %w", p.name, err)
	}
	return out.Bytes(), nil
}

func goComponent(m *debug.Module) cyclonedx.Component {
	out := cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: strings.Trim(m.Version, "()")}
	out.PackageURL = "pkg:golang/" + m.Path + "@" + out.Version
	out.BOMRef = out.PackageURL
	if m.Sum != "" {
		out.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}}
	}
	return out
}

// sbomArtifact returns an artifact that a registry lists among the referrers of an image.
func sbomArtifact(sbom []byte, subject v1.Descriptor) (v1.Image, error) {
	out := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), emptyType)
	out, err := mutate.Append(out, mutate.Addendum{Layer: static.NewLayer(sbom, sbomType), MediaType: sbomType})
	if err != nil {
		return nil, fmt.Errorf("adding the SBOM to its artifact: %w", err)
	}
	withSubject, ok := mutate.Subject(out, subject).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("the SBOM of %s is not an image", subject.Digest)
	}
	return withSubject, nil
}
