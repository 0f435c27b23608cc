package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/console"
)

const consoleLong = `Serve web pages that show the fleet, the reasons of every decision, and what a change would move.

The pages are for a browser on this machine. The command prints a URL that works once, for the first browser that opens it, and
serves until it is interrupted. It reads the hub with your kubeconfig and your rights, and stores nothing. A page shows the clusters,
sets and placements that you may see.

The pages write only what you confirm there: they accept and deny clusters, and pause, resume and approve rollouts, as the commands
of these names do.

With files, placements are decided first, as simulate does, and the pages write nothing.`

const consoleExamples = `  # The pages of a hub
  kubectl berth console

  # The same on files, such as what was saved from a hub
  kubectl berth console -f examples/demo

  # On a port that stays the same
  kubectl berth console --port 7070`

const (
	// headerTime bounds the header of a request, idleTime a connection without one. Streams have no bound in all.
	headerTime, idleTime = 5 * time.Second, 2 * time.Minute
	maxHeader            = 32 << 10
	// stopTime is how long open requests may take when the command ends.
	stopTime = time.Second
)

// options is the command line of `kubectl berth console`.
type options struct {
	*reader.Fleet

	now  string
	port uint16
}

// NewCommand returns the command `kubectl berth console`.
func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &options{Fleet: reader.NewFleet(streams, clock)}
	cmd := &cobra.Command{
		Use: "console [flags]", Short: "Serve web pages of the fleet, the reasons and the next move",
		Long: consoleLong, Example: consoleExamples, Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now, err := command.Now(o.now, o.Clock)
			if err == nil && o.now != "" && !o.Offline() {
				err = errors.New("--now needs files: a hub is shown as it is; give files with -f")
			}
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			return o.run(cmd.Context(), now)
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().StringVar(&o.now, "now", "", "with files, the `instant` to decide for, such as 2026-11-20T10:00:00Z (default: now)")
	cmd.Flags().Uint16Var(&o.port, "port", 0, "`port` on 127.0.0.1 (default: a free one)")
	command.AddFleetFlags(cmd, o.Fleet)
	return cmd
}

// run serves the pages until the user interrupts it.
func (o *options) run(ctx context.Context, now time.Time) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	session, follow, err := o.session(ctx, now)
	if err != nil {
		return err
	}
	server, err := console.New(console.Options{
		Session: func(*http.Request) (console.Session, error) { return session, nil },
		Clock:   clock.RealClock{},
	})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(o.port))))
	if err != nil {
		return fmt.Errorf("listening for the browser; another --port may be free: %w", err)
	}
	guard := console.NewLoopback(server, listener.Addr().String(), o.Clock)
	printer.Printf(o.Streams.Out, "Open this URL in a browser on this machine. It works once:\n\n  %s\n\nThe pages are served until this "+
		"command is interrupted.\n", guard.URL())
	go follow(ctx)
	return serve(ctx, listener, guard)
}

// serve answers requests until the context ends.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving the pages: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		return server.Close()
	}
	return nil
}
