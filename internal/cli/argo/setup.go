package argo

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/bridge/argocd"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
)

const argoSetupLong = `Print what Argo CD needs to follow a placement, as YAML for kubectl apply: the ConfigMap of the generator clusterDecisionResource, the
permission of the ApplicationSet controller to list decisions, and an ApplicationSet with an Application for each selected cluster.

The placement is in the namespace of Argo CD (-n, argocd by default), because the generator lists no other namespace. The command reads
no hub and writes nothing.

With preserveResourcesOnDeletion, which the ApplicationSet has, a cluster that leaves the decision loses its Application and keeps its
workload.`

func newArgoSetup(streams genericiooptions.IOStreams) *cobra.Command {
	setup := argocd.Setup{}
	cmd := &cobra.Command{
		Use: "setup PLACEMENT [flags]", Short: "Print what Argo CD needs to follow a placement", Long: argoSetupLong,
		Example: `  # What Argo CD needs to follow the placement web
  kubectl berth argo setup web --repo https://git.example.com/app.git --path deploy | kubectl apply -f -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.NewUsageError(cmd, errors.New("name one placement: argo setup PLACEMENT"))
			}
			setup.Placement = args[0]
			if err := setup.Check(); err != nil {
				return command.NewUsageError(cmd, err)
			}
			return printer.WriteBuffered(streams.Out, setup.Print)
		},
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	flags.StringVarP(&setup.Namespace, "namespace", "n", argocd.Namespace, "`namespace` of Argo CD, where the placement is too")
	flags.StringVar(&setup.ServiceAccount, "service-account", argocd.ServiceAccount, "service `account` of the ApplicationSet controller")
	flags.StringVar(&setup.Repository, "repo", "https://git.example.com/app.git", "`URL` of the repository of the Applications")
	flags.StringVar(&setup.Path, "path", "deploy", "`path` in the repository")
	flags.DurationVar(&setup.Poll, "poll", 30*time.Second, "how `often` the generator reads the decision")
	completion.Register(cmd, "namespace", cobra.NoFileCompletions) // the command reads no hub
	return cmd
}
