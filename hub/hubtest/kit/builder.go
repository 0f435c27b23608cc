package kit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

// Namespace returns a namespace.
func Namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// ClusterNamespace returns the namespace of a cluster, with its label.
func ClusterNamespace(cluster string) *corev1.Namespace {
	out := Namespace(cluster)
	out.Labels = map[string]string{clusterv1.ClusterNameLabelKey: cluster}
	return out
}

// Cluster returns a cluster that is not accepted, with labels given as key, value.
func Cluster(name string, labels ...string) *clusterv1.ManagedCluster {
	out := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i := 0; i < len(labels); i += 2 {
		metav1.SetMetaDataLabel(&out.ObjectMeta, labels[i], labels[i+1])
	}
	return out
}

// AcceptedCluster returns a cluster that is accepted, with labels given as key, value.
func AcceptedCluster(name string, labels ...string) *clusterv1.ManagedCluster {
	out := Cluster(name, labels...)
	out.Spec.HubAcceptsClient = true
	return out
}

// Set returns a set that clusters are in by their label.
func Set(name string) *clusterv1beta2.ManagedClusterSet {
	return &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// GlobalSet returns the set of every cluster.
func GlobalSet() *clusterv1beta2.ManagedClusterSet { return Set(clusterv1beta2.GlobalClusterSetName) }

// Binding returns the binding of a set to a namespace.
func Binding(namespace, set string) *clusterv1beta2.ManagedClusterSetBinding {
	out := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set}}
	out.Spec.ClusterSet = set
	return out
}

// Placement returns a placement of all clusters that its namespace may use.
func Placement(namespace, name string, changes ...func(*clusterv1beta1.PlacementSpec)) *clusterv1beta1.Placement {
	out := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, change := range changes {
		change(&out.Spec)
	}
	return out
}

// Number makes a placement select a number of clusters.
func Number(clusters int32) func(*clusterv1beta1.PlacementSpec) {
	return func(spec *clusterv1beta1.PlacementSpec) { spec.NumberOfClusters = &clusters }
}

// Labelled makes a placement select clusters with a label only.
func Labelled(key, value string) func(*clusterv1beta1.PlacementSpec) {
	return func(spec *clusterv1beta1.PlacementSpec) {
		spec.Predicates = append(spec.Predicates, clusterv1beta1.ClusterPredicate{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
			LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
		}})
	}
}

// ByScore makes a placement select one cluster, the cluster with the most of a score.
func ByScore(resource, score string) func(*clusterv1beta1.PlacementSpec) {
	return func(spec *clusterv1beta1.PlacementSpec) {
		one := int32(1)
		spec.NumberOfClusters = &one
		spec.PrioritizerPolicy = clusterv1beta1.PrioritizerPolicy{
			Mode: clusterv1beta1.PrioritizerPolicyModeExact,
			Configurations: []clusterv1beta1.PrioritizerConfig{{
				ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{
					Type: clusterv1beta1.ScoreCoordinateTypeAddOn, AddOn: &clusterv1beta1.AddOnScore{ResourceName: resource, ScoreName: score},
				},
				Weight: &one,
			}},
		}
	}
}

// Work returns a work of a cluster, with manifests in JSON.
func Work(cluster, name string, manifests ...string) *workv1.ManifestWork {
	out := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name}}
	out.Spec.Workload = Manifests(manifests...)
	return out
}

// WorkSet returns a set of works for placements, without manifests.
func WorkSet(namespace, name string, placements ...string) *workv1alpha1.ManifestWorkReplicaSet {
	out := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, placement := range placements {
		out.Spec.PlacementRefs = append(out.Spec.PlacementRefs, workv1alpha1.LocalPlacementReference{Name: placement})
	}
	return out
}

// Manifests returns manifests in JSON.
func Manifests(manifests ...string) workv1.ManifestsTemplate {
	var out workv1.ManifestsTemplate
	for _, text := range manifests {
		out.Manifests = append(out.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(text)}})
	}
	return out
}

// ConfigMap returns a ConfigMap.
func ConfigMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// Parse returns an untyped object from YAML.
func Parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &out.Object); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}
