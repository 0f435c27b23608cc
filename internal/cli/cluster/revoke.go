package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/hold"
)

const revokeLong = `Withdraw a right to clusters: delete a binding or a set, or take a cluster out of its exclusive set.

| what | what happens |
|---|---|
| binding SET | the binding of the namespace to the set is deleted |
| set SET | the set is deleted |
| cluster CLUSTER | the label clusterset is taken off the cluster |

Clusters that were selected by the right leave when the grace has ended (--withdrawal-grace of the manager, 15 s by default), as after
"kubectl delete". With --now they leave at once.`

const revokeExamples = `  # End the access of the namespace shop to the set prod, at once
  kubectl berth revoke binding prod -n shop --now

  # Take the cluster edge-1 out of its set
  kubectl berth revoke cluster edge-1`

var errNothingToRevoke = errors.New("name what to withdraw: binding SET, set SET or cluster CLUSTER")

// revokeOptions is the command line of `kubectl berth revoke`.
type revokeOptions struct {
	streams genericiooptions.IOStreams
	flags   *reader.HubFlags

	now bool
}

// NewRevoke returns the command `kubectl berth revoke`.
func NewRevoke(streams genericiooptions.IOStreams) *cobra.Command {
	o := &revokeOptions{streams: streams, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use: "revoke (binding | set | cluster) NAME [flags]", Short: "Withdraw a right to clusters",
		Long: revokeLong, Example: revokeExamples,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return command.NewUsageError(cmd, errNothingToRevoke)
			}
			return nil
		},
		ValidArgs: []string{"binding", "set", "cluster"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, args[0], args[1])
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().BoolVar(&o.now, "now", false, "let the clusters leave at once, without a grace")
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

func (o *revokeOptions) run(cmd *cobra.Command, kind, name string) error {
	namespace, _, err := o.flags.Loader().Namespace()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	hub, err := reader.NewClient(o.flags, o.streams.ErrOut, reader.NewWriter)
	if err != nil {
		return err
	}
	var done string
	switch kind {
	case "binding", "managedclustersetbinding":
		binding := &clusterv1beta2.ManagedClusterSetBinding{}
		binding.Namespace, binding.Name = namespace, name
		done = fmt.Sprintf("managedclustersetbinding %s in the namespace %s deleted", name, namespace)
		err = o.remove(cmd.Context(), hub, binding)
	case "set", "managedclusterset":
		set := &clusterv1beta2.ManagedClusterSet{}
		set.Name = name
		done, err = fmt.Sprintf("managedclusterset %s deleted", name), o.remove(cmd.Context(), hub, set)
	case "cluster", "managedcluster":
		done, err = o.takeOut(cmd.Context(), hub, name)
	default:
		return command.NewUsageError(cmd, fmt.Errorf("%q cannot be withdrawn: %w", kind, errNothingToRevoke))
	}
	if err != nil {
		return err
	}
	what := "its clusters leave"
	if strings.HasSuffix(kind, "cluster") {
		what = "it leaves placements that use the set"
	}
	when := "when the grace has ended, unless it comes back"
	if o.now {
		when = "at once"
	}
	printer.Printf(o.streams.Out, "%s: %s %s\n", done, what, when)
	return nil
}

// remove deletes a set or a binding, after it has the mark that ends its grace.
func (o *revokeOptions) remove(ctx context.Context, hub client.Client, object client.Object) error {
	key := client.ObjectKeyFromObject(object)
	if err := hub.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return fmt.Errorf("reading what to withdraw: %w; %s", err, endGrace(object))
	} else if err != nil {
		return fmt.Errorf("reading what to withdraw: %w", err)
	}
	if o.now {
		mark := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"now"}}}`, clusterv1beta2.RevokedAnnotation)
		if err := hub.Patch(ctx, object, client.RawPatch(types.MergePatchType, mark)); err != nil {
			return fmt.Errorf("marking %s: %w", key, err)
		}
	}
	if err := hub.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID())}); err != nil {
		return fmt.Errorf("deleting %s: %w", key, err)
	}
	return nil
}

// endGrace returns the advice how to let clusters leave at once after a withdrawal that has begun. The object has its name.
func endGrace(object client.Object) string {
	kind, namespace := "managedcluster", ""
	switch object.(type) {
	case *clusterv1beta2.ManagedClusterSet:
		kind = "managedclusterset"
	case *clusterv1beta2.ManagedClusterSetBinding:
		kind, namespace = "managedclustersetbinding", " -n "+object.GetNamespace()
	}
	return fmt.Sprintf("where it went moments ago, `kubectl berth holds release %s/%s%s --hold %s --reason WHY` ends its grace",
		kind, object.GetName(), namespace, hold.Grace)
}

// takeOut takes a cluster out of its exclusive set.
func (o *revokeOptions) takeOut(ctx context.Context, hub client.Client, name string) (done string, err error) {
	cluster := &clusterv1.ManagedCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return "", fmt.Errorf("reading the cluster: %w", err)
	}
	set := cluster.Labels[clusterv1beta2.ClusterSetLabel]
	if set == clusterv1beta2.DefaultClusterSetName {
		return "", fmt.Errorf("the cluster %s is in the set %s, which has every cluster without another set: delete the bindings to it "+
			"instead, or give the cluster another set", name, set)
	}
	if set == "" {
		return "", fmt.Errorf("the cluster %s has no label %s, so it is in no exclusive set: change the selector of its sets instead; %s",
			name, clusterv1beta2.ClusterSetLabel, endGrace(cluster))
	}
	before := cluster.DeepCopy()
	delete(cluster.Labels, clusterv1beta2.ClusterSetLabel)
	if o.now {
		if cluster.Annotations == nil {
			cluster.Annotations = map[string]string{}
		}
		cluster.Annotations[clusterv1beta2.RevokedSetAnnotation] = set + "/" + cluster.ResourceVersion
	}
	if err := hub.Patch(ctx, cluster, apply.Fenced(before)); err != nil {
		return "", fmt.Errorf("taking the cluster %s out of the set %s: %w", name, set, err)
	}
	return fmt.Sprintf("managedcluster %s is no longer in the set %s", name, set), nil
}
