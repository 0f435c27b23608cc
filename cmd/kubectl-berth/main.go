// Command kubectl-berth is Berth's command line and kubectl plugin: in the PATH, it runs as `kubectl berth`.
package main

import (
	"context"
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli"
)

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	os.Exit(cli.Main(context.Background(), os.Args[1:], streams))
}
