package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/rollout"
)

// deliveryFixture is a fixture with a set of works over a placement that selects every cluster: the two of the fixture, and one of
// another cluster set, which the tenant of the fixture may not see.
type deliveryFixture struct {
	fixture

	hidden string
}

// plainSecret is a value that no answer may have.
const plainSecret = "correct-horse-battery"

func newDeliveryFixture(t *testing.T) deliveryFixture {
	t.Helper()
	s := deliveryFixture{fixture: newFixture(t)}
	s.hidden = s.namespace + "-c"
	other := s.namespace + "-other"
	cluster := kit.AcceptedCluster(s.hidden, clusterv1beta2.ClusterSetLabel, other)
	s.create(t, cluster)
	s.create(t, kit.Set(other))
	s.create(t, kit.Binding(s.namespace, other))
	for _, name := range append(s.clusters(), s.hidden) {
		s.client.MustCreate(kit.Namespace(name))
	}
	s.create(t, kit.Placement(s.namespace, "fleet"))
	return s
}

// set returns the set api over the placement fleet.
func (d deliveryFixture) set(t *testing.T, strategy, version string) *workv1alpha1.ManifestWorkReplicaSet {
	t.Helper()
	out := kit.WorkSet(d.namespace, "api")
	reference := workv1alpha1.LocalPlacementReference{Name: "fleet"}
	kit.NoError(t, yaml.UnmarshalStrict([]byte(strategy), &reference.RolloutStrategy.RolloutStrategy))
	out.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{reference}
	for _, manifest := range []string{
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key","namespace":"shop"},"stringData":{"key":"` + plainSecret + `"}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"api","namespace":"shop"},"spec":{"replicas":` + version +
			`,"selector":{"matchLabels":{"app":"api"}},"template":{"metadata":{"labels":{"app":"api"}},"spec":{"containers":[{"name":"api","image":"api"}]}}}}`,
	} {
		out.Spec.ManifestWorkTemplate.Workload.Manifests = append(out.Spec.ManifestWorkTemplate.Workload.Manifests,
			workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}})
	}
	return out
}

// work waits for the work of a cluster and returns it.
func (d deliveryFixture) work(t *testing.T, cluster string) *workv1.ManifestWork {
	t.Helper()
	out := &workv1.ManifestWork{}
	kit.Await(t, "the work of a cluster and returns it", func(ctx context.Context) error {
		return d.client.Get(ctx, client.ObjectKey{Namespace: cluster, Name: plan.WorkName(d.namespace, "api")}, out)
	})
	return out
}

// report stores what the agent of a cluster reports: that the Deployment is refused for good, or with an empty message that all is well.
func (d deliveryFixture) report(t *testing.T, cluster, refusal string) {
	t.Helper()
	work := kit.Work(cluster, plan.WorkName(d.namespace, "api"))
	deployment := workv1.ManifestCondition{
		ResourceMeta: workv1.ManifestResourceMeta{
			Ordinal: 1, Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments",
			Namespace: "shop", Name: "api",
		},
		Conditions: []metav1.Condition{},
	}
	status, failed := metav1.ConditionTrue, refusal != ""
	if failed {
		status, refusal = metav1.ConditionFalse, workv1.PermanentFailurePrefix+refusal
	}
	set := func(to *[]metav1.Condition, kind string, status metav1.ConditionStatus, message string) {
		meta.SetStatusCondition(to, metav1.Condition{
			Type: kind, Status: status, Reason: "Reported", Message: message,
			ObservedGeneration: work.Generation,
		})
	}
	d.client.For(t).AwaitStatusChanged(work, func() { // the manager may create or change the work meanwhile
		set(&deployment.Conditions, workv1.WorkApplied, status, refusal)
		set(&work.Status.Conditions, workv1.WorkApplied, status, "")
		set(&work.Status.Conditions, workv1.WorkAvailable, status, "")
		if !failed {
			set(&work.Status.Conditions, workv1.WorkProgressing, metav1.ConditionFalse, "")
		}
		work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{deployment}
	})
}

// deliveryTenant is a tenant that may read the sets of works of the namespace, and nothing in the namespaces of clusters.
func (d deliveryFixture) deliveryTenant(t *testing.T) string {
	t.Helper()
	user := d.tenant(t)
	d.create(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "sets"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{workv1.GroupName}, Resources: []string{"manifestworkreplicasets"}, Verbs: []string{"get", "list"},
	}}})
	d.create(t, kit.RoleBinding(d.namespace, "sets", kit.Role("sets"), kit.User(user)))
	return user
}

// awaitOutput runs a command until its standard output has all texts, and returns it.
func awaitOutput(t *testing.T, args []string, want ...string) result {
	t.Helper()
	var got result
	kit.Await(t, "the command prints the wanted texts", func(ctx context.Context) error {
		got = run(ctx, args...)
		for _, text := range want {
			if !strings.Contains(got.out, text) {
				return fmt.Errorf("%w: %q is not in %+v", errNotYet, text, got)
			}
		}
		return nil
	})
	return got
}

// TestExplainDelivery explains a set that stands still, as the administrator and as a tenant without rights in the namespaces of clusters.
func TestExplainDelivery(t *testing.T) {
	t.Setenv("COLUMNS", "400") // no text is wrapped
	s := newDeliveryFixture(t)
	s.startViews(t, "replicaset")
	s.create(t, s.set(t, "{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 0, progressDeadline: 1h}}", "1"))
	a, b := s.clusters()[0], s.clusters()[1]
	const refusal = "Failed to apply manifest: spec.selector: field is immutable"
	s.report(t, a, refusal)
	s.report(t, b, "")
	explain := func(more ...string) []string {
		return append([]string{"explain", "mwrs", "api", "-n", s.namespace}, more...)
	}
	failing := []string{"Breached", "Failing  1  " + a, "Deployment shop/api: " + refusal, "kubectl berth rollout undo api", "Done  1  " + b}
	awaitOutput(t, explain(), append(failing, "WaitsForRepair  1  "+s.hidden)...)
	awaitOutput(t, []string{"explain", "placement", "fleet", "-n", s.namespace},
		append(failing, "Delivered by "+s.namespace+"/api: Breached", "Selected")...)
	awaitOutput(t, explain(a), a+" in "+s.namespace+"/api: Failing", "  manifest     Deployment shop/api", "and the same write fails again")
	work := s.work(t, a)
	awaitOutput(t, []string{"explain", "manifestwork", work.Name, "-n", a}, a+"/"+work.Name+": Failed", "set          "+s.namespace+"/api",
		"Deployment shop/api   False")

	user := s.deliveryTenant(t)
	as := []string{"--as", user}
	got := awaitOutput(t, explain(as...), append(failing, "and 1 cluster that you may not see")...)
	leaks := []result{
		got, run(t.Context(), explain(append(as, "-o", "json")...)...), run(t.Context(), explain(append(as, "-o", "wide")...)...),
		run(t.Context(), explain(append(as, s.hidden)...)...), run(t.Context(),
			append(as, "explain", "placement", "fleet", "-n", s.namespace)...),
		run(t.Context(), append(as, "rollout", "status", "api", "-n", s.namespace, "--all", "-o", "yaml")...),
	}
	for i, each := range leaks {
		named := strings.ReplaceAll(each.out+each.errOut, "cluster "+s.hidden+":", "") // the error names what the tenant gave
		if strings.Contains(named, s.hidden) || strings.Contains(named, plainSecret) {
			t.Errorf("answer %d names the hidden cluster or the Secret: %+v", i, each)
		}
	}
	var data report.Report
	kit.NoError(t, json.Unmarshal([]byte(leaks[1].out), &data))
	codes := map[string]rollout.Code{}
	for _, c := range data.Clusters {
		codes[c.Cluster] = c.Code
	}
	if data.Hidden != 1 || len(codes) != 2 || codes[a] != rollout.Failing || codes[b] != rollout.Done ||
		data.APIVersion != "view.cluster.open-cluster-management.io/v1" {
		t.Errorf("the tenant reads %+v", data)
	}
	if leaks[3].code != cli.ExitRefused || !strings.Contains(leaks[3].errOut, "delivers nothing to a cluster") {
		t.Errorf("the hidden cluster: %+v", leaks[3])
	}
	for name, more := range map[string][]string{"the administrator": nil, "the tenant": as} {
		got := run(t.Context(), append([]string{"rollout", "status", "api", "-n", s.namespace, "--watch", "--timeout", "40s"}, more...)...)
		if got.code != cli.ExitUnsatisfied || strings.Contains(got.out+got.errOut, s.hidden) ||
			!strings.Contains(got.out, "Breached   1 of 3 done, 0 under way, 1 failed") ||
			!strings.Contains(got.errOut, "stands still: fleet: 1 cluster of 3 failed, more than maxFailures allows") ||
			!strings.Contains(got.errOut, "`kubectl berth rollout undo api -n "+s.namespace+"`") {
			t.Errorf("%s watches %+v", name, got)
		}
	}
	s.checkDiff(t, user)
	refused := run(t.Context(), explain("--as", "no-role")...)
	if refused.code != cli.ExitRefused || refused.out != "" || !strings.Contains(refused.errOut, `User "no-role" cannot get`) {
		t.Errorf("a user without a role: %+v", refused)
	}
	path := "/apis/view.cluster.open-cluster-management.io/v1/namespaces/" + s.namespace + "/manifestworkreplicasets/api/delivery"
	clients := kit.Must(kubernetes.NewForConfig(shared.ConfigFor(t, "no-role"))).In(t)
	var status int
	clients.RESTClient().Get().AbsPath(path).Do(t.Context()).StatusCode(&status)
	if status != http.StatusForbidden {
		t.Errorf("a user without a role gets status %d of %s", status, path)
	}
}

// checkDiff compares a changed template with the works of the hub, as the administrator and as a tenant.
func (d deliveryFixture) checkDiff(t *testing.T, tenant string) {
	t.Helper()
	changed := d.set(t, "{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 0, progressDeadline: 1h}}", "2")
	changed.APIVersion, changed.Kind = workv1alpha1.GroupVersion.String(), "ManifestWorkReplicaSet"
	text := kit.Must(yaml.Marshal(changed)).In(t)
	path := filepath.Join(t.TempDir(), "set.yaml")
	kit.NoError(t, os.WriteFile(path, text, 0o600))
	want := []string{
		"api: 3 clusters changed, 0 clusters removed, 0 unchanged", "changed   Deployment shop/api   spec.replicas\n",
		"over " + d.namespace + "/fleet: Progressive, 3 clusters in 1 group",
	}
	for name, more := range map[string][]string{"the administrator": nil, "the tenant": {"--as", tenant}} {
		got := run(t.Context(), append([]string{"diff", "-f", path, "-n", d.namespace}, more...)...)
		if name == "the tenant" && !strings.Contains(got.errOut, "note: you may not list manifestworks: every cluster counts as "+
			"having the stored template") {
			t.Errorf("%s gets no note: %+v", name, got)
		}
		for _, text := range want {
			if got.code != cli.ExitUnsatisfied || !strings.Contains(got.out, text) || strings.Contains(got.out, plainSecret) {
				t.Errorf("%s: %q is not in %+v", name, text, got)
			}
		}
	}
}

// TestWatchARollout follows a rollout to its end, line by line. The first attempt ends by its timeout.
func TestWatchARollout(t *testing.T) {
	s := newDeliveryFixture(t)
	s.startViews(t, "replicaset")
	s.create(t, s.set(t, "{type: Progressive, progressive: {maxConcurrency: 1}}", "1"))
	late := run(t.Context(), "rollout", "status", "api", "-n", s.namespace, "--watch", "--timeout", "3s")
	if late.code != cli.ExitUnsatisfied || !strings.Contains(late.errOut, "the rollout of api has not ended after 3s") {
		t.Errorf("a rollout that has not ended: %+v", late)
	}
	var out, errOut kit.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- start(t.Context(), &out, &errOut, "rollout", "status", "api", "-n", s.namespace, "--watch", "--timeout", "5m")
	}()
	for i, cluster := range append(s.clusters(), s.hidden) {
		kit.Await(t, "the watch prints the progress", func(context.Context) error {
			if line := fmt.Sprintf("%d of 3 done, 1 under way", i); !strings.Contains(out.String(), line) {
				return fmt.Errorf("%w: %q is not in %s%s", errNotYet, line, out.String(), errOut.String())
			}
			return nil
		})
		s.report(t, cluster, "")
	}
	if code := <-ended; code != cli.ExitOK || errOut.String() != "" ||
		!strings.Contains(out.String(), "Finished   3 of 3 done, 0 under way, 0 failed\n") {
		t.Errorf("exit code %d, %s\n%s", code, errOut.String(), out.String())
	}
}
