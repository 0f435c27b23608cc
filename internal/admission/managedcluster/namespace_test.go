package managedcluster_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/admission/managedcluster"
)

const acceptC1 = "update managedclusters/accept c1 in register.open-cluster-management.io"

func simulated(in *clusterv1.ManagedCluster) *clusterv1.ManagedCluster {
	out := in.DeepCopy()
	out.Annotations = map[string]string{clusterv1.SimulatedAnnotationKey: "true"}
	return out
}

// TestAgentsGetNoForeignNamespace: an agent has access to the namespace with the name of its cluster. A cluster with the name of
// another owner's namespace is not accepted.
func TestAgentsGetNoForeignNamespace(t *testing.T) {
	const advice = `the namespace "c1" exists and is not labelled as this cluster's; if it is meant for the agent of this cluster, ` +
		`label it open-cluster-management.io/cluster-name=c1, else give the cluster another name`
	const refused = `managedclusters.cluster.open-cluster-management.io "c1" is forbidden: spec.hubAcceptsClient cannot be turned on: ` +
		advice
	warned := []string{"the cluster cannot be accepted as it is: " + advice}
	foreign := managedcluster.Namespace{Exists: true}
	for sentence, test := range map[string]struct {
		old, after *clusterv1.ManagedCluster
		namespace  managedcluster.Namespace
		err        error
		want       string
		warnings   []string
	}{
		"created, a warning": {after: cluster().Obj(), namespace: foreign, warnings: warned},
		"created, the namespace of another cluster": {
			after: cluster().Obj(), namespace: managedcluster.Namespace{Exists: true, Cluster: "c2"},
			warnings: warned,
		},
		"created, the namespace is its own":      {after: cluster().Obj(), namespace: managedcluster.Namespace{Exists: true, Cluster: "c1"}},
		"created, there is no namespace":         {after: cluster().Obj()},
		"created, the namespace cannot be read":  {after: cluster().Obj(), err: errBoom},
		"created simulated":                      {after: simulated(cluster().Obj()), namespace: foreign},
		"created accepted":                       {after: accepted(), namespace: foreign, want: refused},
		"created accepted, simulated":            {after: simulated(accepted()), namespace: foreign},
		"created accepted, namespace is its own": {after: accepted(), namespace: managedcluster.Namespace{Exists: true, Cluster: "c1"}},
		"accepted":                               {old: cluster().Obj(), after: accepted(), namespace: foreign, want: refused},
		"accepted, simulated":                    {old: simulated(cluster().Obj()), after: simulated(accepted()), namespace: foreign},
		"accepted, simulated no longer":          {old: simulated(accepted()), after: accepted(), namespace: foreign, want: refused},
		"accepted long ago":                      {old: accepted(), after: accepted(), namespace: foreign},
		"changed, not accepted":                  {old: cluster().Obj(), after: cluster().Label("a", "b").Obj(), namespace: foreign},
		"denied":                                 {old: accepted(), after: cluster().Obj(), namespace: foreign},
	} {
		t.Run(sentence, func(t *testing.T) {
			namespaces := func(context.Context, string) (managedcluster.Namespace, error) { return test.namespace, test.err }
			sets := func(context.Context, string) (bool, error) { return true, nil }
			c := managedcluster.Request{Old: test.old, New: test.after, User: jane(acceptC1)}
			checkError(t, c.Validate(t.Context(), namespaces), test.want)
			if diff := cmp.Diff(test.warnings, c.Warnings(t.Context(), namespaces, sets)); test.want == "" && diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
