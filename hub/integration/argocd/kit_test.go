//go:build slow

package argocd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
	"github.com/berth-project/berth/internal/kube/process"
)

const (
	// account is the service account of the controller.
	account = "argocd-applicationset-controller"
	// refreshAnnotation makes the controller generate an ApplicationSet at once. It removes the annotation when it has done so.
	refreshAnnotation = "argocd.argoproj.io/application-set-refresh"
	// refreshAgain is after which time the annotation is set again, if an error of the generator left it there.
	refreshAgain = 2 * time.Second
	// placementName is the placement of every test, and the name of its ApplicationSet.
	placementName = "web"
)

var errNotYet = errors.New("not yet")

// installation is Argo CD's ApplicationSet controller in a namespace, with a fleet that a placement of the namespace may use.
type installation struct {
	namespace  string
	client     *kit.Client
	controller *process.Process
}

// install starts the controller with the permissions of its own manifests. The number is that of the clusters, each with a cluster
// Secret.
func install(t *testing.T, clusters int) *installation {
	t.Helper()
	folder := kit.Must(hubtest.ArgoCD()).In(t)
	a := &installation{namespace: shared.Namespace(t), client: kit.New(t, shared)}
	a.applyManifests(t, filepath.Join(folder, "permissions"))
	a.create(t, "v1", "ConfigMap", "argocd-cm", nil)
	a.create(t, "v1", "Secret", "argocd-secret", nil)
	a.create(t, "argoproj.io/v1alpha1", "AppProject", "default", map[string]any{"spec": map[string]any{
		"sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"server": "*", "namespace": "*"}},
	}})
	a.storeFleet(t, clusters)
	a.start(t, folder)
	return a
}

// start starts the controller, and stops it with the test.
func (i *installation) start(t *testing.T, folder string) {
	t.Helper()
	user := "system:serviceaccount:" + i.namespace + ":" + account
	kubeconfig := shared.WriteKubeconfig(t, shared.ConfigFor(t, user, "system:serviceaccounts", "system:serviceaccounts:"+i.namespace))
	t.Setenv("KUBECONFIG", kubeconfig) // the controller reads no flag for one of its clients
	started := kit.Must(process.Start(t.Context(), process.NewOutput(0, ""), filepath.Join(folder, account),
		"--namespace", i.namespace, "--metrics-addr", hubtest.FreeAddress(t), "--probe-addr", hubtest.FreeAddress(t),
		"--webhook-addr", hubtest.FreeAddress(t))).In(t)
	i.controller = started
	t.Cleanup(func() {
		started.Stop()
		if t.Failed() {
			log := started.Output().String()
			t.Logf("the log of the controller:\n%s", log[max(0, len(log)-8000):])
		}
	})
}

// applyManifests creates the objects of a folder in the namespace.
func (i *installation) applyManifests(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d manifests in %s, %v", len(files), folder, err)
	}
	for _, file := range files {
		data := kit.Must(os.ReadFile(file)).In(t)
		i.apply(t, data)
	}
}

// apply creates the objects of a text in the namespace, or updates them.
func (i *installation) apply(t *testing.T, text []byte) {
	t.Helper()
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		kit.NoError(t, yaml.Unmarshal(document, &object.Object))
		object.SetNamespace(i.namespace)
		if subjects, _, _ := unstructured.NestedSlice(object.Object, "subjects"); len(subjects) == 1 {
			subjects[0].(map[string]any)["namespace"] = i.namespace
			kit.NoError(t, unstructured.SetNestedSlice(object.Object, subjects, "subjects"))
		}
		if err := i.client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("user"),
			client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
}

// create stores an object in the namespace.
func (i *installation) create(t *testing.T, apiVersion, kind, name string, parts map[string]any) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	maps.Copy(object.Object, parts)
	object.SetName(name)
	object.SetNamespace(i.namespace)
	object.SetLabels(map[string]string{"app.kubernetes.io/part-of": "argocd", "app.kubernetes.io/name": name})
	i.client.For(t).MustCreate(object)
}

// cluster returns the name of a cluster.
func (i *installation) cluster(number int) string { return fmt.Sprintf("%s-%03d", i.namespace, number) }

// storeFleet stores clusters in a set of their own, which is bound to the namespace, and a cluster Secret for each. Every tenth is a
// canary.
func (i *installation) storeFleet(t *testing.T, clusters int) {
	t.Helper()
	binding := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: i.namespace}}
	binding.Spec.ClusterSet = i.namespace
	objects := []client.Object{kit.Set(i.namespace), binding}
	for number := range clusters {
		labels := map[string]string{clusterv1beta2.ClusterSetLabel: i.namespace}
		if number%10 == 0 {
			labels["canary"] = "yes"
		}
		cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: i.cluster(number), Labels: labels}}
		cluster.Spec.HubAcceptsClient = true
		objects = append(objects, cluster, i.clusterSecret(number))
	}
	for _, object := range objects {
		i.client.For(t).MustCreate(object)
		t.Cleanup(func() { _ = i.client.Delete(context.WithoutCancel(t.Context()), object) }) // others go with the namespace
	}
}

// clusterSecret is how Argo CD stores a cluster.
func (i *installation) clusterSecret(number int) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: i.namespace, Name: i.cluster(number),
			Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster"},
		},
		StringData: map[string]string{"name": i.cluster(number), "server": "https://" + i.cluster(number) + ".example.com", "config": "{}"},
	}
}

// placement returns the placement: a number of clusters, the canaries first, in groups of at most 60 %.
func (i *installation) placement(number int32) *clusterv1beta1.Placement {
	out := kit.Placement(i.namespace, placementName)
	out.Spec.NumberOfClusters = new(number)
	strategy := &out.Spec.DecisionStrategy.GroupStrategy
	strategy.ClustersPerDecisionGroup = intstr.FromString("60%")
	canaries := metav1.LabelSelector{MatchLabels: map[string]string{"canary": "yes"}}
	strategy.DecisionGroups = []clusterv1beta1.DecisionGroup{{
		GroupName:       "canary",
		ClusterSelector: clusterv1beta1.GroupClusterSelector{LabelSelector: canaries},
	}}
	return out
}

// resize changes how many clusters the placement selects.
func (i *installation) resize(t *testing.T, number int32) {
	t.Helper()
	i.patch(t, i.placement(number), fmt.Sprintf(`{"spec":{"numberOfClusters":%d}}`, number))
}

func (i *installation) patch(t *testing.T, object client.Object, patch string) {
	t.Helper()
	i.client.For(t).MustMerge(object, patch)
}

// taint taints a cluster so that no placement selects it, or removes the taint.
func (i *installation) taint(t *testing.T, name string, add bool) {
	t.Helper()
	taints := "null"
	if add {
		taints = `[{"key":"example.com/drain","effect":"NoSelect"}]`
	}
	i.patch(t, kit.Cluster(name), `{"spec":{"taints":`+taints+`}}`)
}

// applicationSet is the ApplicationSet that follows the placement.
func (i *installation) applicationSet() *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet"}}
	out.SetName(placementName)
	out.SetNamespace(i.namespace)
	return out
}

// refresh lets the controller generate the ApplicationSet at once.
func (i *installation) refresh(t *testing.T) {
	t.Helper()
	i.client.For(t).MustPatch(i.applicationSet(), refreshPatch(0))
}

// refreshPatch lets the controller generate at once. After an error, only a patch with another value does so.
func refreshPatch(value int) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+refreshAnnotation+`":"`+strconv.Itoa(value)+`"}}}`))
}

// setUp applies what `kubectl berth argo setup` prints, with the shortest poll, once the placement has decided: Argo CD reads an
// ApplicationSet without a decision again after three minutes only.
func (i *installation) setUp(t *testing.T) {
	t.Helper()
	kit.Await(t, "the placement has decided", func(ctx context.Context) error {
		_, err := i.decided(ctx)
		return err
	})
	printed := i.berth(t, cli.ExitOK, "argo", "setup", placementName, "--namespace", i.namespace, "--poll", "1s")
	i.apply(t, []byte(printed))
}

// berth runs a command of kubectl berth as the administrator, and returns its output.
func (i *installation) berth(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	t.Setenv("KUBECONFIG", shared.Kubeconfig())
	got := cli.Run(t.Context(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, clock.RealClock{})
	if got != code {
		t.Fatalf("%q ended with %d, want %d: %s%s", args, got, code, out.String(), errOut.String())
	}
	return out.String()
}

// decided returns the complete decision of the placement, or why it is not complete.
func (i *installation) decided(ctx context.Context) ([]string, error) {
	placement := i.placement(0)
	if err := i.client.Get(ctx, client.ObjectKeyFromObject(placement), placement); err != nil {
		return nil, err
	}
	list := &clusterv1beta1.PlacementDecisionList{}
	if err := i.client.List(ctx, list, client.InNamespace(i.namespace),
		client.MatchingLabelsSelector{Selector: decision.Selector(placementName)}); err != nil {
		return nil, err
	}
	read := decision.OfList(list)
	if obstacles := read.Obstacles(placement); len(obstacles) > 0 {
		return nil, fmt.Errorf("%w: %v", errNotYet, obstacles)
	}
	return slices.Collect(read.ClusterNames()), nil
}

// applications returns the clusters that have an Application, with its UID.
func (i *installation) applications(ctx context.Context) (map[string]types.UID, error) {
	list := applicationList()
	if err := i.client.List(ctx, list, client.InNamespace(i.namespace)); err != nil {
		return nil, err
	}
	out := map[string]types.UID{}
	for _, item := range list.Items {
		out[clusterOf(&item)] = item.GetUID()
	}
	return out, nil
}

func applicationList() *unstructured.UnstructuredList {
	return &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationList"}}
}

// clusterOf returns the cluster of an Application, by its name.
func clusterOf(application client.Object) string {
	return strings.TrimPrefix(application.GetName(), placementName+"-")
}

// awaitFollowed waits until the placement selects a number of clusters and exactly these have Applications, and returns them.
func (i *installation) awaitFollowed(t *testing.T, selected int) map[string]types.UID {
	t.Helper()
	var out map[string]types.UID
	kit.Await(t, "the placement selects a number of clusters and exactly these have Applications", func(ctx context.Context) error {
		want, err := i.decided(ctx)
		if err != nil {
			return err
		}
		if len(want) != selected {
			return fmt.Errorf("%w: %d clusters are selected, want %d", errNotYet, len(want), selected)
		}
		if out, err = i.applications(ctx); err != nil {
			return err
		}
		if diff := cmp.Diff(want, slices.Sorted(keys(out))); diff != "" {
			return fmt.Errorf("%w: Applications (-decision +Applications):\n%s", errNotYet, diff)
		}
		return nil
	})
	return out
}
