//go:build slow

package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	repositoryRoot = "../../.."
	chartFolder    = "charts/berth"
	// maxRevisions bounds the commits among which the former chart is looked for.
	maxRevisions = 20
	helmTimeout  = "4m"
)

// git runs git in the repository.
func git(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", repositoryRoot}, args...)...)
	output, err := command.Output()
	return strings.TrimSpace(string(output)), err
}

// formerRevision returns the latest commit whose chart is another than that of the working tree; empty where the history has none, as in a
// shallow clone.
func formerRevision(ctx context.Context) string {
	changes, err := git(ctx, "log", "--format=%H", fmt.Sprintf("--max-count=%d", maxRevisions), "--", chartFolder)
	if err != nil {
		return ""
	}
	for revision := range strings.FieldsSeq(changes) {
		_, exists := git(ctx, "cat-file", "-e", revision+":"+chartFolder+"/Chart.yaml")
		_, equal := git(ctx, "diff", "--quiet", revision, "--", chartFolder)
		if exists == nil && equal != nil {
			return revision
		}
	}
	return ""
}

// formerChart returns the folder of the chart of the former commit. Without one it is a copy of the chart with a changed default, so that
// the upgrade changes something in any case.
func formerChart(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	out := filepath.Join(folder, chartFolder)
	revision := formerRevision(t.Context())
	if revision == "" {
		t.Log("NO FORMER CHART: the history has no commit with another chart, as in a shallow clone. The upgrade starts from a copy of this " +
			"chart with three replicas.")
		kit.NoError(t, os.CopyFS(out, os.DirFS(filepath.Join(repositoryRoot, chartFolder))))
		values := filepath.Join(out, "values.yaml")
		text := kit.Must(os.ReadFile(values)).In(t)
		changed := bytes.Replace(text, []byte("\nreplicas: 2\n"), []byte("\nreplicas: 3\n"), 1)
		if bytes.Equal(text, changed) {
			t.Fatal("the chart has no default of two replicas to change")
		}
		kit.NoError(t, os.WriteFile(values, changed, 0o600))
		return out
	}
	t.Logf("upgrading from the chart of the commit %s", revision)
	archive := filepath.Join(folder, "chart.tar")
	kit.Must(git(t.Context(), "archive", "--format=tar", "--output="+archive, revision, chartFolder)).In(t)
	if output, err := exec.CommandContext(t.Context(), "tar", "-x", "-C", folder, "-f", archive).CombinedOutput(); err != nil {
		t.Fatalf("unpacking the former chart: %v: %s", err, output)
	}
	return out
}

// newNodes starts a cluster with fake nodes, on which pods become ready and Jobs succeed without running.
func newNodes(t *testing.T) *hubtest.Hub {
	t.Helper()
	hubtest.RequireScheduler(t)
	const name = "nodes"
	flags := append([]string{"--name=" + name}, shared.JoinFlags(t, name, registration.DriverCSR)...)
	return hubtest.New(t, hubtest.Options{Member: flags})
}

// kept is an object that no step of a release may replace. Decisions must not be written either.
type kept struct {
	object client.Object
	// uid and version are those of the first check.
	uid, version string
}

// check requires that an object is there, and is the same as at the first check.
func (k *kept) check(t *testing.T, hub *kit.Client, after string) {
	t.Helper()
	if err := hub.Get(t.Context(), client.ObjectKeyFromObject(k.object), k.object); err != nil {
		t.Fatalf("after %s: %v", after, err)
	}
	uid, version := string(k.object.GetUID()), k.object.GetResourceVersion()
	if k.uid == "" {
		k.uid, k.version = uid, version
	}
	_, isDecision := k.object.(*clusterv1beta1.PlacementDecision)
	if uid != k.uid || isDecision && version != k.version {
		t.Errorf("after %s, %T %s was written: %s %s, before %s %s", after, k.object, k.object.GetName(), uid, version, k.uid, k.version)
	}
}

// newDecision creates clusters and a placement that selects of them, and returns what must stay.
func newDecision(t *testing.T, hub *kit.Client) []*kept {
	t.Helper()
	tolerant := kit.Placement("default", "web")
	tolerant.Spec.NumberOfClusters = new(int32(2))
	tolerant.Spec.Tolerations = []clusterv1beta1.Toleration{{Operator: clusterv1beta1.TolerationOpExists}}
	binding := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "global"}}
	binding.Spec.ClusterSet = "global"
	objects := []client.Object{kit.AcceptedCluster("c1"), kit.AcceptedCluster("c2"), kit.AcceptedCluster("c3"), binding, tolerant}
	hub.MustCreate(objects...)
	slice := &clusterv1beta1.PlacementDecision{}
	kit.Await(t, "the placement has selected two clusters", func(ctx context.Context) error {
		err := hub.Get(ctx, client.ObjectKey{Namespace: "default", Name: "web-decision-1"}, slice)
		if err == nil && len(slice.Status.Decisions) != 2 {
			err = fmt.Errorf("%d clusters are selected", len(slice.Status.Decisions))
		}
		return err
	})
	kit.Await(t, "the status counts two clusters", func(ctx context.Context) error { // the status is written after the slice
		err := hub.Get(ctx, client.ObjectKeyFromObject(tolerant), tolerant)
		if err == nil && tolerant.Status.NumberOfSelectedClusters != 2 {
			err = fmt.Errorf("the placement has selected %d clusters", tolerant.Status.NumberOfSelectedClusters)
		}
		return err
	})
	hub.MustRead(slice)
	return []*kept{{object: slice}, {object: binding}, {object: tolerant}, {object: kit.Cluster("c1")}}
}

// TestAReleaseIsUpgradedRolledBackAndUninstalled installs the former chart on a cluster with fake nodes, upgrades to this one, and returns.
// Hooks are Jobs that run nothing there, so their commands are run by hand. A manager with the permissions of the chart decides meanwhile.
func TestAReleaseIsUpgradedRolledBackAndUninstalled(t *testing.T) {
	former := formerChart(t)
	hub := newNodes(t)
	admin := kit.New(t, hub)
	mustHelm := func(args ...string) {
		t.Helper()
		if output, err := helmOn(t, hub.Kubeconfig(), append(args, "--namespace=berth-system", "--wait", "--timeout="+helmTimeout)...); err !=
			nil {
			t.Fatalf("helm %s: %v\n%s", args[0], err, output)
		}
	}
	repository := "--set=image.repository=localhost:5001/berth/berth"
	mustRun(t, hub, manager, "crds", "apply")
	mustHelm("install", "berth", former, "--create-namespace", repository)
	firstReplicas := replicas(t, admin)
	running := hubtest.StartManager(t, hub, hubtest.ManagerOptions{})
	objects := newDecision(t, admin)
	unchanged := func(after string) {
		t.Helper()
		for _, object := range objects {
			object.check(t, admin, after)
		}
		jobs := &batchv1.JobList{}
		if err := admin.List(t.Context(), jobs, client.InNamespace("berth-system")); err != nil || len(jobs.Items) > 0 {
			t.Errorf("after %s, Jobs of hooks are left: %d, %v", after, len(jobs.Items), err)
		}
	}
	unchanged("the installation")

	mustRun(t, hub, manager, "crds", "apply")
	mustHelm("upgrade", "berth", filepath.Join(repositoryRoot, chartFolder), repository, "--set=replicas=4")
	if got := replicas(t, admin); got != 4 {
		t.Errorf("after the upgrade %d replicas are ready, want 4", got)
	}
	unchanged("the upgrade")
	mustHelm("rollback", "berth", "1")
	if got := replicas(t, admin); got != firstReplicas {
		t.Errorf("after the rollback %d replicas are ready, want %d", got, firstReplicas)
	}
	unchanged("the rollback")

	running.Stop()
	mustHelm("uninstall", "berth")
	unchanged("the uninstallation")
	checkUninstalled(t, admin)
}

// replicas returns how many replicas of the manager are ready.
func replicas(t *testing.T, hub *kit.Client) int32 {
	t.Helper()
	deployment := &appsv1.Deployment{}
	hub.MustGet(client.ObjectKey{Namespace: "berth-system", Name: "berth"}, deployment)
	return deployment.Status.ReadyReplicas
}

// checkUninstalled requires that the manager and its permissions are gone.
func checkUninstalled(t *testing.T, hub *kit.Client) {
	t.Helper()
	want, got := map[string]bool{}, map[string]bool{}
	for name, object := range map[string]client.Object{
		"Deployment":  &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "berth-system", Name: "berth"}},
		"ClusterRole": &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "berth"}},
		"hook":        &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "berth-cleanup"}},
	} {
		err := hub.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		want[name], got[name] = true, apierrors.IsNotFound(err)
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(errors.Join(errors.New(name), err))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is gone (-want +got):\n%s", diff)
	}
}
