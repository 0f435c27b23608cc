package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// deniedByWebhook is part of the API server's message when a webhook refuses a request.
const deniedByWebhook = "admission webhook"

var (
	errNotReviewed = errors.New("the API server stored a placement with a wrong expression: the webhooks review nothing; see `kubectl get " +
		"validatingwebhookconfigurations berth`")
	errNoViews = errors.New("the API server serves no views; see `kubectl get apiservice v1.view.cluster.open-cluster-management.io`")
)

// checks are the parts that the command "berth check" checks.
type checks struct {
	kubeconfig      string
	webhooks, views bool
}

// newCheckCommand returns the command "berth check".
func newCheckCommand() *cobra.Command {
	o := checks{webhooks: true, views: true}
	command := &cobra.Command{
		Use:   "check",
		Short: "Check that the API server reaches the manager",
		Long: `Check that the API server reaches the manager: a placement with a wrong expression, created in a dry run, must be refused by the webhooks, and the
views must be served. Nothing is stored. Chart "berth" runs this command for "helm test".`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return o.run(command.Context(), command.OutOrStdout()) },
	}
	command.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "path of the kubeconfig of the hub; empty: in-cluster, or $KUBECONFIG")
	command.Flags().BoolVar(&o.webhooks, "webhooks", o.webhooks, "check the webhooks")
	command.Flags().BoolVar(&o.views, "views", o.views, "check the views")
	return command
}

func (c checks) run(ctx context.Context, out io.Writer) error {
	options := DefaultOptions()
	options.Kubeconfig = c.kubeconfig
	restConfig, err := hubConfig(options)
	if err != nil {
		return err
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	hub, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("making a client of the hub: %w", err)
	}
	if c.webhooks {
		if err := checkWebhooks(ctx, hub, options.LeaderElectionNamespace); err != nil {
			return err
		}
		printLine(out, "webhooks: the API server reaches them")
	}
	if c.views {
		found, err := discovery.NewDiscoveryClientForConfig(restConfig)
		if err != nil {
			return fmt.Errorf("making a discovery client: %w", err)
		}
		if _, err := found.ServerResourcesForGroupVersion("view." + clusterv1.GroupName + "/v1"); err != nil {
			return fmt.Errorf("%w: %w", errNoViews, err)
		}
		printLine(out, "views: the API server reaches them")
	}
	return nil
}

// checkWebhooks creates a placement that a webhook must refuse, in a dry run.
func checkWebhooks(ctx context.Context, hub client.Client, namespace string) error {
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "check-"}}
	placement.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{"an expression that does not compile"}},
	}}}
	err := hub.Create(ctx, placement, client.DryRunAll)
	switch {
	case err == nil:
		return errNotReviewed
	case strings.Contains(err.Error(), deniedByWebhook):
		return nil
	default:
		return fmt.Errorf("creating a placement in a dry run: %w", err)
	}
}

// printLine prints to the terminal. A closed terminal is no failure of the check.
func printLine(out io.Writer, line string) { _, _ = fmt.Fprintln(out, line) }
