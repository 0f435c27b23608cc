package main

import (
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// writeImages builds the images of every program, writes their archives and pushes them.
func writeImages(o imageOptions, out io.Writer) error {
	for _, name := range o.programs {
		programs := make([]*program, 0, len(o.platforms))
		for _, platform := range o.platforms {
			p, err := readProgram(o.binaries, name, platform)
			if err != nil {
				return err
			}
			p.release = o.release
			programs = append(programs, p)
		}
		b, err := newBundle(programs)
		if err != nil {
			return err
		}
		if o.tag != "" {
			b.tag = o.tag
		}
		if err := b.write(o.out); err != nil {
			return err
		}
		digest, err := b.index.Digest()
		if err != nil {
			return fmt.Errorf("computing the digest of %s: %w", name, err)
		}
		fmt.Fprintf(out, "%s/%s.tar: %s %s, %d platforms, %s\n", o.out, name, name, programs[0].version(), len(programs), digest)
		if o.push == "" {
			continue
		}
		pushed, err := b.push(o)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "pushed %s@%s\n", pushed, digest)
	}
	return nil
}

// push pushes the index, and the SBOMs as referrers of its images. It returns the name under which the index is found. Credentials are
// those of the user's container tools.
func (b *bundle) push(o imageOptions) (string, error) {
	var options []name.Option
	if o.insecure {
		options = append(options, name.Insecure)
	}
	reference, err := name.NewTag(o.push+"/"+b.name+":"+b.tag, options...)
	if err != nil {
		return "", fmt.Errorf("naming the image of %s: %w", b.name, err)
	}
	keychain := remote.WithAuthFromKeychain(authn.DefaultKeychain)
	if err := remote.WriteIndex(reference, b.index, keychain); err != nil {
		return "", fmt.Errorf("pushing %s: %w", reference, err)
	}
	for _, artifact := range b.artifacts {
		digest, err := artifact.Digest()
		if err != nil {
			return "", fmt.Errorf("computing the digest of the SBOM of %s: %w", b.name, err)
		}
		if err := remote.Write(reference.Digest(digest.String()), artifact, keychain); err != nil {
			return "", fmt.Errorf("pushing the SBOM of %s: %w", reference, err)
		}
	}
	return reference.String(), nil
}
