package addoninstall

import (
	"context"
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const addOnVersion = "addon.open-cluster-management.io/v1alpha1"

// fleet is a namespace with a placement "everywhere", and the clusters that it selects. The first is the canary.
type fleet struct {
	*kit.Client
	t         *testing.T
	namespace string
	clusters  []string
	// settled is how many add-ons settle has created.
	settled int
}

// newFleet creates clusters, their namespaces and a placement that selects those with the label use=yes.
func newFleet(t *testing.T, clusters int) *fleet {
	t.Helper()
	f := &fleet{Client: kit.New(t, shared), t: t, namespace: shared.Namespace(t)}
	f.MustCreate(kit.Set(f.namespace))
	binding := kit.Binding(f.namespace, f.namespace)
	f.MustCreate(binding)
	for i := range clusters {
		name := fmt.Sprintf("%s-%d", f.namespace, i)
		f.clusters = append(f.clusters, name)
		labels := map[string]string{clusterv1beta2.ClusterSetLabel: f.namespace, "use": "yes", "wave": "rest"}
		if i == 0 {
			labels["wave"] = "canary"
		}
		f.MustCreate(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, kit.Namespace(name))
	}
	f.MustCreate(f.placement())
	return f
}

func (f *fleet) placement() *clusterv1beta1.Placement {
	out := kit.Placement(f.namespace, "everywhere")
	selector := func(key, value string) clusterv1beta1.ClusterSelector {
		return clusterv1beta1.ClusterSelector{LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}
	}
	out.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: selector("use", "yes")}}
	out.Spec.DecisionStrategy.GroupStrategy.DecisionGroups = []clusterv1beta1.DecisionGroup{
		{GroupName: "canary", ClusterSelector: clusterv1beta1.GroupClusterSelector{
			LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"wave": "canary"}},
		}},
	}
	return out
}

// startManager starts a manager that decides placements and installs add-ons, until the end of the test.
func startManager(t *testing.T) *hubtest.Manager {
	t.Helper()
	return hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: []string{"--controllers=placement,clusterset,binding,addoninstall"}})
}

// parse returns an untyped object.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	kit.NoError(t, yaml.Unmarshal([]byte(text), &out.Object))
	return out
}

// install stores an add-on on the clusters of the placement, one after the other, with the canary first.
func (f *fleet) install(name string) *unstructured.Unstructured {
	f.t.Helper()
	out := parse(f.t, fmt.Sprintf(`
apiVersion: %s
kind: ClusterManagementAddOn
metadata: {name: %s}
spec:
  addOnMeta: {displayName: Metrics}
  supportedConfigs:
    - group: addon.open-cluster-management.io
      resource: addondeploymentconfigs
      defaultConfig: {namespace: %[3]s, name: base}
  installStrategy:
    type: Placements
    placements:
      - namespace: %[3]s
        name: everywhere
        rolloutStrategy:
          type: Progressive
          progressive: {maxConcurrency: 1, mandatoryDecisionGroups: [{groupName: canary}]}
`, addOnVersion, name, f.namespace))
	f.MustCreate(out)
	f.t.Cleanup(func() {
		ctx := context.WithoutCancel(f.t.Context())
		if f.t.Failed() {
			f.describe(ctx, name)
		}
		_ = f.Delete(ctx, out) // the test may have deleted it
	})
	return out
}

// describe logs the reports on an add-on.
func (f *fleet) describe(ctx context.Context, name string) {
	f.t.Helper()
	object := parse(f.t, fmt.Sprintf("{apiVersion: %s, kind: ClusterManagementAddOn}", addOnVersion))
	_ = f.Get(ctx, client.ObjectKey{Name: name}, object) // an object that does not exist is empty
	f.t.Logf("%s: %v", name, object.Object["status"])
	found, _ := installed(ctx, f, name)
	for _, cluster := range sortedKeys(found) {
		f.t.Logf("%s: %v", cluster, found[cluster].Object["status"])
	}
}

// configure stores the configuration "base" with the value of a variable.
func (f *fleet) configure(value string) {
	f.t.Helper()
	config := parse(f.t, fmt.Sprintf(`
apiVersion: %s
kind: AddOnDeploymentConfig
metadata: {namespace: %s, name: base}
spec: {customizedVariables: [{name: VERSION, value: %s}]}
`, addOnVersion, f.namespace, value))
	kit.NoError(f.t, f.Apply(f.t.Context(), client.ApplyConfigurationFromUnstructured(config), client.FieldOwner("test"),
		client.ForceOwnership))
}

// installed returns the ManagedClusterAddOns of a name in the clusters of the fleet, by cluster.
func installed(ctx context.Context, from client.Reader, name string) (map[string]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(addOnVersion)
	list.SetKind("ManagedClusterAddOnList")
	if err := from.List(ctx, list); err != nil {
		return nil, err
	}
	out := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		if list.Items[i].GetName() == name {
			out[list.Items[i].GetNamespace()] = &list.Items[i]
		}
	}
	return out, nil
}

// awaitVersions waits until the add-on has exactly these versions on the clusters, such as "1 1 2"; "-" is a cluster without the add-on.
func (f *fleet) awaitVersions(p *program, want ...string) {
	f.t.Helper()
	f.Await("the add-on has exactly these versions on the clusters, such as \"1 1 2\"", func(ctx context.Context) error {
		found, err := installed(ctx, f, p.name)
		if err != nil {
			return err
		}
		var got []string
		for _, cluster := range f.clusters {
			if object := found[cluster]; object == nil {
				got = append(got, "-")
			} else {
				got = append(got, p.version(object))
			}
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("the clusters have %q, want %q: %w", got, want, errNotYet)
		}
		return nil
	})
}

// awaitProgress waits until the clusters of the placement have to reach a version, and condition Progressing is False for a reason. It
// returns the progress.
func (f *fleet) awaitProgress(p *program, version, reason string) map[string]any {
	f.t.Helper()
	return f.awaitReason(p.name, reason, func(progress map[string]any) bool { return p.versionIn(progress, "desiredConfig") == version })
}

// awaitReason waits until condition Progressing of an add-on is False for a reason, and the progress passes a test. It returns the
// progress.
func (f *fleet) awaitReason(name, reason string, passes func(progress map[string]any) bool) map[string]any {
	f.t.Helper()
	var out map[string]any
	f.Await("condition Progressing of an add-on is False for a reason, and the progress passes a test", func(ctx context.Context) error {
		object := parse(f.t, fmt.Sprintf("{apiVersion: %s, kind: ClusterManagementAddOn}", addOnVersion))
		if err := f.Get(ctx, client.ObjectKey{Name: name}, object); err != nil {
			return err
		}
		all, _, _ := unstructured.NestedSlice(object.Object, "status", "installProgressions")
		if len(all) != 1 {
			return fmt.Errorf("%d placements: %w", len(all), errNotYet)
		}
		out, _ = all[0].(map[string]any)
		found := condition(out, "conditions", "Progressing")
		if found["status"] != "False" || found["reason"] != reason || !passes(out) {
			return fmt.Errorf("the progress is %v: %w", out, errNotYet)
		}
		return nil
	})
	return out
}

// versionIn returns the version of a configuration of the progress, such as lastKnownGoodConfig; empty before the program has seen it.
func (p *program) versionIn(progress map[string]any, field string) string {
	references, _ := progress["configReferences"].([]any)
	if len(references) != 1 {
		return ""
	}
	reference, _ := references[0].(map[string]any)
	config, _ := reference[field].(map[string]any)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.versions[fmt.Sprint(config["specHash"])]
}

// condition returns a condition; nil without it.
func condition(of map[string]any, field, kind string) map[string]any {
	list, _ := of[field].([]any)
	for _, each := range list {
		if found, _ := each.(map[string]any); found["type"] == kind {
			return found
		}
	}
	return nil
}

// account returns a client of a service account with the rules of a role in all namespaces.
func (f *fleet) account(name string, rules ...rbacv1.PolicyRule) *kit.Client {
	f.t.Helper()
	name = f.namespace + "-" + name
	f.MustCreate(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
	f.MustCreate(kit.ClusterRoleBinding(name, name, kit.ServiceAccount(f.namespace, name)))
	return kit.As(f.t, shared, "system:serviceaccount:"+f.namespace+":"+name, "system:serviceaccounts", "system:serviceaccounts:"+f.namespace)
}

// label changes a label of a cluster.
func (f *fleet) label(cluster, key, value string) {
	f.t.Helper()
	object := kit.Cluster(cluster)
	f.AwaitChanged(object, func() {
		object.Labels[key] = value
	})
}

func sortedKeys(in map[string]*unstructured.Unstructured) []string {
	var out []string
	for key := range in {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}
