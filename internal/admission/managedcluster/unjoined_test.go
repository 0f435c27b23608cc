package managedcluster_test

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/admission/managedcluster"
)

const (
	unreachable = clusterv1.ManagedClusterTaintUnreachable
	denied      = clusterv1.ManagedClusterTaintDenied
)

func joinOptions(tainted bool) managedcluster.JoinOptions {
	return managedcluster.JoinOptions{TaintsUnjoined: func(context.Context) (bool, error) { return tainted, nil }, Simulates: true}
}

func annotated(cluster *clusterv1.ManagedCluster, value string) *clusterv1.ManagedCluster {
	cluster.Annotations = map[string]string{clusterv1.SimulatedAnnotationKey: value}
	return cluster
}

func reported(cluster *clusterv1.ManagedCluster, reason string) *clusterv1.ManagedCluster {
	cluster.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.ManagedClusterConditionJoined, Status: metav1.ConditionTrue,
		Reason: reason,
	}}
	return cluster
}

// TestAClusterIsTaintedWhenItIsCreated checks that new clusters are tainted only if the deployment removes the taint later.
func TestAClusterIsTaintedWhenItIsCreated(t *testing.T) {
	own := taint(unreachable, "", "NoSelect", now.Truncate(time.Second))
	bare := tainted()
	bare.Spec.LeaseDurationSeconds = 60
	gpu := tainted(taint("gpu", "", "NoSelect", now.Truncate(time.Second)))
	warning := []string{"the cluster has the taint " + unreachable + ", and is not selected, until its agent reports it"}
	for name, tc := range map[string]struct {
		old, after *clusterv1.ManagedCluster
		state      managedcluster.JoinOptions
		want       []jsonpatch.Operation
	}{
		"created with a spec": {
			nil, bare, joinOptions(true),
			[]jsonpatch.Operation{set("/spec/taints", []clusterv1.Taint{own})},
		},
		"created without": {
			nil, tainted(), joinOptions(true),
			[]jsonpatch.Operation{set("/spec", map[string]any{"hubAcceptsClient": false, "taints": []clusterv1.Taint{own}})},
		},
		"created with another taint":                 {nil, gpu, joinOptions(true), []jsonpatch.Operation{set("/spec/taints/-", own)}},
		"created with the taint":                     {nil, tainted(own), joinOptions(true), nil},
		"created while clusters are not tainted":     {nil, bare, joinOptions(false), nil},
		"created where the health controller is off": {nil, bare, managedcluster.JoinOptions{}, nil},
		"created to be simulated":                    {nil, annotated(bare.DeepCopy(), "true"), joinOptions(true), nil},
		"created with another value of the annotation": {
			nil, annotated(bare.DeepCopy(), "yes"), joinOptions(true),
			[]jsonpatch.Operation{set("/spec/taints", []clusterv1.Taint{own})},
		},
		"updated": {bare, bare, joinOptions(true), nil},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := managedcluster.Request{
				Old: tc.old, New: tc.after, User: jane("update managedclusters/taint c1"),
				Now: now,
			}.Default(t.Context(), tc.state)
			checkError(t, err, "")
			if diff := cmp.Diff(tc.want, answer.Patches); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
			if len(tc.want) > 0 {
				if diff := cmp.Diff(warning, answer.Warnings); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			}
		})
	}
	failing := managedcluster.JoinOptions{TaintsUnjoined: func(context.Context) (bool, error) { return false, errBoom }}
	if _, err := (managedcluster.Request{New: bare, User: jane(), Now: now}).Default(t.Context(), failing); !errors.Is(err, errBoom) {
		t.Errorf("Default = %v, want the failure", err)
	}
}

// TestAcceptingRemovesTheTaintOfDeniedClusters checks that any other removal needs a permission.
func TestAcceptingRemovesTheTaintOfDeniedClusters(t *testing.T) {
	own, gpu, drill := taint(denied, "", "NoSelect", before), taint("gpu", "", "NoSelect", before), taint(denied, "drill", "NoSelect", before)
	with := func(accepts bool, taints ...clusterv1.Taint) *clusterv1.ManagedCluster {
		out := tainted(taints...)
		out.Spec.HubAcceptsClient = accepts
		return out
	}
	remove := func(path string) []jsonpatch.Operation {
		return []jsonpatch.Operation{{Operation: "remove", Path: path}}
	}
	for name, tc := range map[string]struct {
		old, after *clusterv1.ManagedCluster
		want       []jsonpatch.Operation
	}{
		"accepted":                              {with(false, gpu, own), with(true, gpu, own), remove("/spec/taints/1")},
		"accepted, without the taint":           {with(false, gpu), with(true, gpu), nil},
		"accepted, the taint has another value": {with(false, drill), with(true, drill), nil},
		"accepted before":                       {with(true, own), with(true, own), nil},
		"not accepted":                          {with(false, own), with(false, own), nil},
		"denied":                                {with(true), with(false), nil},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := managedcluster.Request{Old: tc.old, New: tc.after, User: jane(), Now: now}.Default(t.Context(), joinOptions(true))
			checkError(t, err, "")
			if diff := cmp.Diff(tc.want, answer.Patches); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
		})
	}
	accept := "update managedclusters/accept c1 in register.open-cluster-management.io"
	refusal := `managedclusters.cluster.open-cluster-management.io "c1" is forbidden: user "jane" may not put on, change or take away the taint ` + denied +
		`, which reports the cluster's health: this needs the verb "update" on "managedclusters/taint" in the API group "cluster.open-cluster-management.io" with the resourceName "c1"`
	checkError(t, validate(t, jane(accept), with(false, gpu, own), with(true, gpu)), "")
	checkError(t, validate(t, jane(accept), with(false, own, drill), with(true)), refusal)
	checkError(t, validate(t, jane(accept), with(false, own), with(false)), refusal)
	checkError(t, validate(t, jane(accept), with(true, own), with(true)), refusal)
	checkError(t, validate(t, jane(accept), with(false), with(true, own)), refusal)
	checkError(t, validate(t, jane(labelName+"*"), nil, tainted(taint(unreachable, "", "NoSelect", now))), "")
	if err := validate(t, jane(labelName+"*"), nil, tainted(taint(unreachable, "x", "NoSelect", now))); err == nil {
		t.Error("a new cluster with a health taint with another value is accepted")
	}
}

// TestSimulatingNeedsPermissionToAccept checks the annotation of simulated clusters: it needs the permission to accept the cluster,
// and is denied for a cluster whose agent has reported.
func TestSimulatingNeedsPermissionToAccept(t *testing.T) {
	const accept = "update managedclusters/accept c1 in register.open-cluster-management.io"
	lacking := `managedclusters.cluster.open-cluster-management.io "c1" is forbidden: user "jane" may not set the annotation berth-project.io/simulated: ` +
		`this needs the verb "update" on "managedclusters/accept" in the API group "register.open-cluster-management.io" with the resourceName "c1"`
	joined := `ManagedCluster.cluster.open-cluster-management.io "c1" is invalid: metadata.annotations[berth-project.io/simulated]: Forbidden: ` +
		`an agent has joined the cluster, so that it cannot be simulated`
	plain := func() *clusterv1.ManagedCluster { return cluster().Obj() }
	for name, tc := range map[string]struct {
		old, after *clusterv1.ManagedCluster
		rights     []string
		want       string
	}{
		"created, no right":               {nil, annotated(plain(), "true"), nil, lacking},
		"created, with the right":         {nil, annotated(plain(), "true"), []string{accept}, ""},
		"created with another value":      {nil, annotated(plain(), "no"), nil, ""},
		"annotated later, no right":       {plain(), annotated(plain(), "true"), nil, lacking},
		"turned on, no right":             {annotated(plain(), "no"), annotated(plain(), "true"), nil, lacking},
		"annotated later, with the right": {plain(), annotated(plain(), "true"), []string{accept}, ""},
		"annotated before":                {annotated(plain(), "true"), annotated(plain(), "true"), nil, ""},
		"annotation removed":              {annotated(plain(), "true"), plain(), nil, ""},
		"an agent has joined, with the right": {
			reported(plain(), "ManagedClusterJoined"),
			annotated(reported(plain(), "ManagedClusterJoined"), "true"),
			[]string{accept},
			joined,
		},
		"a simulation before, with the right": {
			reported(plain(), "Simulated"), annotated(reported(plain(), "Simulated"), "true"),
			[]string{accept},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkError(t, validate(t, jane(tc.rights...), tc.old, tc.after), tc.want)
		})
	}
}

// TestImportingNeedsPermissionToAccept checks the annotations of imported clusters: to set, change or remove one needs the permission to
// accept the cluster.
func TestImportingNeedsPermissionToAccept(t *testing.T) {
	const accept = "update managedclusters/accept c1 in register.open-cluster-management.io"
	for _, key := range []string{"berth-project.io/inventory-profile", "berth-project.io/inventory-manager"} {
		of := func(value string) *clusterv1.ManagedCluster {
			out := cluster().Obj()
			if value != "" {
				out.Annotations = map[string]string{key: value}
			}
			return out
		}
		lacking := fmt.Sprintf(
			`managedclusters.cluster.open-cluster-management.io "c1" is forbidden: user "jane" may not change the annotation %s: `+
				`this needs the verb "update" on "managedclusters/accept" in the API group "register.open-cluster-management.io" with the resourceName "c1"`, key)
		for name, tc := range map[string]struct {
			old, after *clusterv1.ManagedCluster
			rights     []string
			want       string
		}{
			"created, no right":       {nil, of("fleet/c1"), nil, lacking},
			"created, with the right": {nil, of("fleet/c1"), []string{accept}, ""},
			"set, no right":           {of(""), of("fleet/c1"), nil, lacking},
			"changed, no right":       {of("fleet/c1"), of("other/c1"), nil, lacking},
			"removed, no right":       {of("fleet/c1"), of(""), nil, lacking},
			"removed, with the right": {of("fleet/c1"), of(""), []string{accept}, ""},
			"not changed":             {of("fleet/c1"), of("fleet/c1"), nil, ""},
		} {
			t.Run(key+" "+name, func(t *testing.T) {
				checkError(t, validate(t, jane(tc.rights...), tc.old, tc.after), tc.want)
			})
		}
	}
}

// TestEveryReplicaReadsTheStoredMode checks that every replica reads from the API server whether new clusters are tainted.
func TestEveryReplicaReadsTheStoredMode(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	set := func(status metav1.ConditionStatus) *clusterv1beta2.ManagedClusterSet {
		out := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: clusterv1beta2.GlobalClusterSetName}}
		if status != "" {
			out.Status.Conditions = []metav1.Condition{{Type: clusterv1beta2.ManagedClusterSetConditionUnjoinedTainted, Status: status}}
		}
		return out
	}
	for sentence, test := range map[string]struct {
		stored []client.Object
		fails  error
		want   bool
	}{
		"clusters are tainted":     {stored: []client.Object{set("True")}, want: true},
		"clusters are not tainted": {stored: []client.Object{set("False")}},
		"the mode is undecided":    {stored: []client.Object{set("")}},
		"the set is missing":       {},
		"the set cannot be read":   {stored: []client.Object{set("True")}, fails: errBoom},
	} {
		t.Run(sentence, func(t *testing.T) {
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(test.stored...).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
					return stdcmp.Or(test.fails, c.Get(ctx, key, object, opts...))
				},
			}).Build()
			got, err := managedcluster.TaintsUnjoined(hub)(t.Context())
			if got != test.want || !errors.Is(err, test.fails) {
				t.Errorf("tainted: %t, error %v", got, err)
			}
		})
	}
}
