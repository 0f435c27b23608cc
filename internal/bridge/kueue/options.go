package kueue

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
)

// Options configures the controller. Flags set the first part, the manager the second.
type Options struct {
	// Namespace is that of Kueue, of the placements of its checks, and of the kubeconfigs and profiles of clusters.
	Namespace string
	// Source is the source of new MultiKueueClusters.
	Source Source

	// What the manager sets.

	// Manager is the name of this cluster manager in its ClusterProfiles.
	Manager string
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options { return Options{Namespace: DefaultNamespace, Source: SourceSecret} }

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "kueue-namespace", o.Namespace, "namespace of Kueue, with the placements that its admission checks name")
	flags.StringVar((*string)(&o.Source), "kueue-source", string(o.Source),
		"where Kueue finds a new cluster: "+string(SourceSecret)+" (CLUSTER-kubeconfig in its namespace) or "+
			string(SourceProfile)+" (of this cluster manager or of the inventory of the cluster, in its namespace; the cluster waits for it)")
}

// Validate returns every fault of the flags.
func (o *Options) Validate() []string {
	if o.Source != SourceSecret && o.Source != SourceProfile {
		return []string{fmt.Sprintf("--kueue-source %q: must be %s or %s", o.Source, SourceSecret, SourceProfile)}
	}
	return nil
}

// kinds returns what the hub must serve.
func (o *Options) kinds() []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for _, kind := range []string{checkKind, configKind, clusterKind} {
		out = append(out, groupVersion().WithKind(kind))
	}
	if o.Source == SourceProfile {
		out = append(out, multiclusterv1alpha1.GroupVersion.WithKind("ClusterProfile"))
	}
	return out
}
