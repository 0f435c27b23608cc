package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/export"
	"github.com/berth-project/berth/internal/membership/join"
)

const exportHelp = `export moves a hub to any Kubernetes on which the chart of Berth is installed: all objects
of Berth with their status, and then the agents. No decision changes, and nothing on a
member is deleted or created again.

The hub must run, because it hands its agents over. From the first write on, the hub
decides and delivers nothing any more, and refuses changes. The manager of the target
waits until it has all objects. Where the command is interrupted, run it again.

Each agent reads the URL, the CA and a token from its hub, gets a certificate of the
target, and stays there once it has renewed its lease. The command waits for the agents,
and names those that have not moved. Keep the hub running until all have.`

const (
	minTokenTTL = 10 * time.Minute
	maxTokenTTL = 7 * 24 * time.Hour
	exportQPS   = 500
)

// exportFlags are the flags of the command.
type exportFlags struct {
	dataDir, kubeconfig, context, hubURL, hubCAFile string
	dryRun                                          bool
	tokenTTL, timeout                               time.Duration
}

func exportCommand() *cobra.Command {
	var flags exportFlags
	command := &cobra.Command{
		Use:   "export --to-kubeconfig FILE",
		Short: "Move a hub and its agents to any Kubernetes",
		Long:  exportHelp,
		Example: `  # What would be moved, and what hinders it
  berth-hub export --to-kubeconfig target.kubeconfig --dry-run

  berth-hub export --to-kubeconfig target.kubeconfig`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	set := command.Flags()
	set.StringVar(&flags.dataDir, "data-dir", defaultDataDir(), "folder of the hub; also set by "+dataDirVariable)
	set.StringVar(&flags.kubeconfig, "to-kubeconfig", "", "kubeconfig of an administrator of the target")
	set.StringVar(&flags.context, "to-context", "", "context of that kubeconfig; empty: its current one")
	set.BoolVar(&flags.dryRun, "dry-run", false, "print what would be moved, and what hinders it")
	set.StringVar(&flags.hubURL, "hub-url", "", "`URL` of the target for agents; empty: what it publishes in kube-public/cluster-info, "+
		"else that of the kubeconfig")
	set.StringVar(&flags.hubCAFile, "hub-ca-file", "", "file with the CA of that URL; empty: as for --hub-url")
	set.DurationVar(&flags.tokenTTL, "token-ttl", 24*time.Hour,
		"how long an agent may use its token: 10 minutes to 7 days; it is replaced while the command runs")
	set.DurationVar(&flags.timeout, "timeout", 10*time.Minute, "how long to wait for the agents")
	_ = command.MarkFlagRequired("to-kubeconfig") // the flag exists
	return command
}

func (f *exportFlags) run(command *cobra.Command) error {
	if f.tokenTTL < minTokenTTL || f.tokenTTL > maxTokenTTL {
		return fmt.Errorf("--token-ttl %s: a token lives from %s to %s", f.tokenTTL, minTokenTTL, maxTokenTTL)
	}
	source, err := clientcmd.BuildConfigFromFlags("", filepath.Join(f.dataDir, datadir.AdminKubeconfig))
	if err != nil {
		return fmt.Errorf("no hub has run in the data folder %s; name the folder of the hub with --data-dir: %w", f.dataDir, err)
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: f.kubeconfig}
	target, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
	if err != nil {
		return fmt.Errorf("reading --to-kubeconfig: %w", err)
	}
	source.WarningHandler, target.WarningHandler = rest.NoWarnings{}, rest.NoWarnings{} // the objects were accepted before
	source.QPS, source.Burst, target.QPS, target.Burst = exportQPS, exportQPS, exportQPS, exportQPS
	endpoint := join.Endpoint{URL: f.hubURL}
	if f.hubCAFile != "" {
		if endpoint.Authority, err = os.ReadFile(f.hubCAFile); err != nil {
			return fmt.Errorf("reading --hub-ca-file: %w", err)
		}
	}
	ctrl.SetLogger(logr.Discard())
	err = export.Export{
		Source: source, Target: target, DryRun: f.dryRun, Endpoint: endpoint, TokenTTL: f.tokenTTL, Timeout: f.timeout,
		Out: command.OutOrStdout(), Clock: clock.RealClock{},
	}.Run(command.Context())
	if utilnet.IsConnectionRefused(err) {
		return errors.Join(err, fmt.Errorf("the hub of the data folder %s, or the target, is stopped: the hub must run to hand its agents over",
			f.dataDir))
	}
	return err
}
