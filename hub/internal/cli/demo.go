package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/examples"
	"github.com/berth-project/berth/hub"
	"github.com/berth-project/berth/hub/internal/demo"
	"github.com/berth-project/berth/hub/internal/scenario"
)

const demoHelp = `demo starts a hub in a temporary folder, stores an example fleet with placements, and
runs commands of "kubectl berth" that show what Berth decides and why. Then it taints a
selected cluster, shows what changes and how long that takes, and removes the taint.

Then three members join, each a process of its own. One is stopped and started again. At
the end demo stops all processes and removes the folder. --examples shows no members.`

var errInterrupted = errors.New("interrupted")

// demoFlags are the flags of the command.
type demoFlags struct {
	examples string
	keep     bool
}

func demoCommand(wiring Config) *cobra.Command {
	var flags demoFlags
	command := &cobra.Command{
		Use:   "demo",
		Short: "Show what Berth decides for an example fleet",
		Long:  demoHelp,
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command, wiring)
		},
	}
	set := command.Flags()
	set.StringVar(&flags.examples, "examples", "", "folder of manifests to show instead of those built in")
	set.BoolVar(&flags.keep, "keep", false, "at the end leave the hub running until it is interrupted")
	return command
}

// run shows the examples on a separate hub. The folder of a failed hub stays, for its log.
func (f *demoFlags) run(command *cobra.Command, wiring Config) error {
	steps, err := f.steps()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	dir, err := os.MkdirTemp("", "berth-demo-")
	if err != nil {
		return fmt.Errorf("creating a temporary folder: %w", err)
	}
	err = f.play(ctx, command, dir, wiring, steps)
	interrupted := ctx.Err() != nil
	switch {
	case err != nil && !interrupted:
		return fmt.Errorf("%w\nthe hub's data and log are left in %s", err, dir)
	case err != nil:
		err = errInterrupted
	}
	if failure := os.RemoveAll(dir); failure != nil {
		return errors.Join(err, fmt.Errorf("removing the temporary folder: %w", failure))
	}
	return err
}

// steps reads the examples.
func (f *demoFlags) steps() ([]scenario.Step, error) {
	if f.examples == "" {
		return scenario.Read(examples.Demo())
	}
	folder, err := os.Stat(f.examples)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the examples: %w", err)
	case !folder.IsDir():
		return nil, fmt.Errorf("reading the examples: %s is not a folder", f.examples)
	}
	return scenario.Read(os.DirFS(f.examples))
}

// play starts the hub, shows the examples and stops the hub.
func (f *demoFlags) play(ctx context.Context, command *cobra.Command, dir string, wiring Config, steps []scenario.Step) error {
	out, clock := command.OutOrStdout(), clock.RealClock{}
	began := clock.Now()
	serve := serveFlags{dataDir: filepath.Join(dir, "hub"), noFsync: true}
	fmt.Fprintln(out, "Starting a hub: etcd, the Kubernetes API server, Berth's manager.")
	options, err := serve.options(ctx, command, wiring)
	if err != nil {
		return err
	}
	running, err := hub.Start(ctx, options)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Ready after %.1f s.\n", clock.Since(began).Seconds())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-running.Done()
		cancel()
	}()
	err = demo.Show(ctx, out, running.RESTConfig(), running.Kubeconfig(), steps)
	if err == nil && f.examples == "" {
		err = f.showMembers(ctx, out, running, dir)
	}
	if err == nil && f.keep {
		fmt.Fprintf(out, "\nThe hub runs on until you press Ctrl-C. To look around:\n\nexport KUBECONFIG=%s\n", running.Kubeconfig())
		<-ctx.Done()
	}
	if failure := running.Stop(); failure != nil {
		return failure // other failures follow from this one
	}
	if err == nil {
		fmt.Fprintln(out, "\nThe hub has stopped. `berth-hub` starts one that keeps its data.")
	}
	return err
}

// showMembers lets members join the hub. Their data is in the folder of the demo.
func (f *demoFlags) showMembers(ctx context.Context, out io.Writer, running *hub.Hub, dir string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	return demo.ShowMembers(ctx, out, running.RESTConfig(), running.Kubeconfig(), demo.Members{Program: program, Dir: dir})
}
