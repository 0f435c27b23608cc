// Command release builds what a release of Berth holds: programs, images for every platform, software bills of materials (SBOMs), charts,
// and checksums.
//
// It owns the form of these files. It builds no binary: the Makefile does. The same binaries give the same bytes on every machine: no
// file has the time, the user or the folder of the build.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

const usage = `usage: release image [flags]
       release files [flags]
       release charts FOLDER CHART...
       release sums FOLDER

image   writes one OCI archive for each program, with an image for every platform and its SBOM, and pushes them if --push is given
files   writes what a release holds: programs with SBOMs, images, charts and definitions, with checksums
charts  packages charts into a folder
sums    writes FOLDER/SHA256SUMS over every other file of the folder`

var errUsage = errors.New(usage)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	switch {
	case len(args) > 0 && args[0] == "image":
		options, err := parseImageOptions(args[1:])
		if err != nil {
			return err
		}
		return writeImages(options, out)
	case len(args) > 0 && args[0] == "files":
		options, err := parseFileOptions(args[1:])
		if err != nil {
			return err
		}
		return writeFiles(options)
	case len(args) > 2 && args[0] == "charts":
		return packageCharts(args[1], args[2:])
	case len(args) == 2 && args[0] == "sums":
		return writeSums(args[1])
	default:
		return errUsage
	}
}

// imageOptions are the flags of the command image.
type imageOptions struct {
	// binaries has a folder OS_ARCHITECTURE for each platform, with the programs in it.
	binaries string
	// out is the folder of the archives.
	out string
	// programs and platforms are what to build.
	programs, platforms []string
	// push is a repository prefix such as "localhost:5001/berth"; empty pushes nothing. The image of the program berth is at PUSH/berth.
	push string
	// tag is the tag of the images. release is the release that commits without a tag of their own lead to.
	tag, release string
	// insecure pushes over plain HTTP.
	insecure bool
}

func parseImageOptions(args []string) (imageOptions, error) {
	var o imageOptions
	var programs, platforms string
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.binaries, "binaries", "bin/release", "folder with a folder OS_ARCHITECTURE for each platform")
	flags.StringVar(&o.out, "out", "bin/image", "folder of the OCI archives")
	flags.StringVar(&programs, "programs", "berth,berth-agent,berth-hub", "programs, separated by commas")
	flags.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64", "platforms, separated by commas")
	flags.StringVar(&o.push, "push", "", "registry and repository prefix to push to, such as localhost:5001/berth")
	flags.StringVar(&o.tag, "tag", "", "tag of the images; the version of the program by default")
	flags.StringVar(&o.release, "release", "", "release, such as v0.1.0, in the versions of programs whose commit has no tag")
	flags.BoolVar(&o.insecure, "insecure", false, "push over plain HTTP")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("reading the flags of image: %w", err)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("image takes no argument, but %q is given", flags.Arg(0))
	}
	o.programs, o.platforms = strings.Split(programs, ","), strings.Split(platforms, ",")
	return o, nil
}
