// Command testhub is a hub for tests that run the other programs of Berth beside it: the control plane of berth-hub with Berth's
// definitions, roles and policies, and nothing else.
//
// It links no manager, agent or command line, so that a change of these does not change it, and `make test` keeps the results of tests that
// do not run what has changed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, stop, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testhub:", err)
		os.Exit(1)
	}
}

// run serves until its context or its standard input ends. It prints the line that berth-hub prints when it is ready.
func run(ctx context.Context, stop func(), args []string) error {
	opts := hub.Options{
		Manifests: append([]fs.FS{config.CRDs(), config.Discovery()}, config.Access()...),
		ManagerIdentity: hub.Identity{
			User:   "system:serviceaccount:berth-system:berth",
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:berth-system"},
		},
		Encrypt: []string{"secrets"},
	}
	flags := flag.NewFlagSet("testhub", flag.ContinueOnError)
	flags.StringVar(&opts.DataDir, "data-dir", "", "the data folder")
	flags.BoolVar(&opts.NoFsync, "unsafe-no-fsync", false, "write faster, and lose data in a power cut")
	manifests := flags.String("manifests", "", "folder with YAML files to apply at the start")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if opts.DataDir == "" {
		return errors.New("-data-dir is required")
	}
	if *manifests != "" {
		opts.Objects = append(opts.Objects, os.DirFS(*manifests))
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // only its end matters
		stop()
	}()
	running, err := hub.Start(ctx, opts)
	if err != nil {
		return err
	}
	fmt.Printf("\nexport KUBECONFIG=%s\n", running.Kubeconfig())
	return running.Wait()
}
