package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/membership/registration/approval"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// given returns an accepted cluster c1 for which nothing exists.
func given(changes ...func(*input)) input {
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1", Annotations: map[string]string{}}}
	cluster.Spec.HubAcceptsClient = true
	in := input{cluster: cluster, now: now, user: "manager"}
	for _, change := range changes {
		change(&in)
	}
	return in
}

// settled applies plans until nothing is left to write.
func settled(in *input) {
	for range 3 {
		applyTo(in, makePlan(*in))
	}
}

// applyTo stores the writes of a plan in an input.
func applyTo(in *input, todo plan) {
	if todo.addFinalizer {
		in.cluster.Finalizers = append(in.cluster.Finalizers, clusterv1.ManagedClusterFinalizer)
	}
	if todo.condition != nil {
		meta.SetStatusCondition(&in.cluster.Status.Conditions, *todo.condition)
	}
	for _, w := range todo.writes {
		object := w.after
		if object == nil {
			object = w.before
		}
		kept := w.after != nil
		switch object := object.(type) {
		case *corev1.Namespace:
			in.namespace = pointer(object, kept)
		case *rbacv1.ClusterRole:
			in.clusterRole = pointer(object, kept)
		case *rbacv1.ClusterRoleBinding:
			in.clusterRoleBinding = pointer(object, kept)
		case *rbacv1.RoleBinding:
			to := map[string]**rbacv1.RoleBinding{
				registration.AgentBinding("c1"): &in.agentBinding, registration.WorkBinding("c1"): &in.workBinding, inventoryName: &in.inventoryBinding,
				registration.AccountBinding: &in.accountBinding,
			}[object.Name]
			*to = pointer(object, kept)
		case *corev1.ServiceAccount:
			in.account = pointer(object, kept)
		}
	}
}

func pointer[T any](object *T, kept bool) *T {
	if !kept {
		return nil
	}
	return object
}

func denied(in *input)    { settled(in); in.cluster.Spec.HubAcceptsClient = false }
func simulated(in *input) { in.cluster.Annotations[clusterv1.SimulatedAnnotationKey] = "true" }

// byToken is a cluster with the driver token whose join token is not used.
func byToken(in *input) {
	in.cluster.Annotations[clusterv1.DriverAnnotationKey] = registration.DriverToken
	in.cluster.Annotations[clusterv1.JoinRequesterAnnotationKey] = registration.JoinUser("c1")
}

func deleted(in *input) {
	settled(in)
	in.cluster.DeletionTimestamp = &metav1.Time{Time: now.Add(-time.Hour)}
}

func terminating(in *input) { in.namespace.DeletionTimestamp = &metav1.Time{Time: now} }

// handedBack returns works with the finalizer of an agent.
func handedBack(names ...string) content {
	out := objects("ManifestWork", names...)
	for i := range out.objects {
		out.objects[i].Finalizers = []string{workv1.ManifestWorkFinalizer}
	}
	return out
}

// simulationReported is the condition that the controller health writes.
func simulationReported(in *input) {
	meta.SetStatusCondition(&in.cluster.Status.Conditions, metav1.Condition{
		Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue, Reason: clusterv1.ReasonSimulated,
	})
}

func foreign(in *input) {
	in.namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "c1"}}
}

func objects(kind string, names ...string) content {
	out := content{kind: kind}
	for _, name := range names {
		object := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name, terminating := strings.CutSuffix(name, "!"); terminating {
			object.Name, object.DeletionTimestamp, object.Finalizers = name, &metav1.Time{Time: now}, []string{"x"}
		}
		if name, priority, ok := strings.Cut(object.Name, "@"); ok {
			object.Name, object.Annotations = name, map[string]string{clusterv1.CleanupPriorityAnnotationKey: priority}
		}
		out.objects = append(out.objects, object)
	}
	return out
}

// inventoried returns an input whose namespace was listed.
func inventoried(changes ...func(*input)) func(*input) {
	return func(in *input) {
		deleted(in)
		in.inventoryBinding, in.inventory.complete = inventoryBinding("c1", "manager"), true
		in.inventoryBinding.CreationTimestamp.Time = now
		for _, change := range changes {
			change(in)
		}
	}
}

// text returns a plan as lines.
func text(todo plan) []string {
	var out []string
	if todo.addFinalizer {
		out = append(out, "add the finalizer")
	}
	for _, w := range todo.writes {
		object, verb := w.after, "patch"
		switch {
		case w.before == nil:
			verb = "create"
		case w.after == nil:
			object, verb = w.before, "delete"
		}
		out = append(out, verb+" "+short(object))
	}
	for _, n := range todo.notes {
		out = append(out, "event "+n.event.Reason)
	}
	if todo.condition != nil {
		out = append(out, fmt.Sprintf("%s %s %s", todo.condition.Type, todo.condition.Status, todo.condition.Reason))
	}
	if todo.removeFinalizers {
		out = append(out, "remove the finalizers")
	}
	if todo.wait > 0 {
		out = append(out, "again in "+todo.wait.String())
	}
	return out
}

func short(object client.Object) string {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1.")
	return kind + " " + strings.Replace(object.GetName(), "open-cluster-management:managedcluster:", "…", 1)
}

func TestPlan(t *testing.T) {
	creates := []string{
		"add the finalizer", "create Namespace c1", "create ClusterRole …c1", "create ClusterRoleBinding …c1",
		"create RoleBinding …c1:registration", "create RoleBinding …c1:work", "HubAcceptedManagedCluster True HubClusterAdminAccepted",
	}
	withdrawn := []string{
		"delete RoleBinding …c1:registration", "delete RoleBinding …c1:work", "delete ClusterRoleBinding …c1",
		"delete ClusterRole …c1", "Deleting True NoResource",
	}
	end := func(more ...string) []string { return append(slices.Clone(withdrawn[:4]), more...) }
	content := func(addOns, works []string, more ...func(*input)) []func(*input) {
		return append([]func(*input){deleted, func(in *input) {
			in.addOns, in.works = objects("ManagedClusterAddOn", addOns...), objects("ManifestWork", works...)
		}}, more...)
	}
	reduce, remaining, later := "patch ClusterRole …c1", "Deleting True ResourceRemaining", "again in 5s"
	const unprotect = "patch Namespace c1"
	force := func(in *input) { in.cluster.Annotations[clusterv1.ForceDeleteAfterAnnotationKey] = "10m" }
	silent := func(in *input) { in.silent = 10 * time.Minute }
	keeps := func(in *input) { in.keeps = true }
	limited := func(in *input) {
		in.workTimeout = 10 * time.Minute
		for i := range in.works.objects {
			in.works.objects[i].Finalizers = []string{workv1.ManifestWorkFinalizer}
		}
	}
	for sentence, test := range map[string]struct {
		in   []func(*input)
		want []string
	}{
		"accepted":                        {want: creates},
		"accepted, and everything exists": {[]func(*input){settled}, nil},
		"accepted and simulated":          {[]func(*input){simulated}, nil},
		"not accepted":                    {[]func(*input){func(in *input) { in.cluster.Spec.HubAcceptsClient = false }}, nil},
		"accepted, and the namespace is foreign": {
			[]func(*input){foreign},
			[]string{"HubAcceptedManagedCluster False Error", "again in 1m0s"},
		},
		"accepted by an earlier release, which did not protect the namespace": {
			[]func(*input){settled, func(in *input) { delete(in.namespace.Labels, clusterv1.AcceptedLabelKey) }},
			[]string{"patch Namespace c1"},
		},
		"accepted, and the namespace has a further label": {[]func(*input){settled, func(in *input) { in.namespace.Labels["x"] = "y" }}, nil},
		"denied, and the namespace is foreign": {
			[]func(*input){denied, foreign},
			[]string{
				reduce, "delete RoleBinding …c1:registration", "delete RoleBinding …c1:work",
				"HubAcceptedManagedCluster False HubClusterAdminDenied",
			},
		},
		"accepted before, and the label is lost": {[]func(*input){settled, foreign}, []string{"again in 1m0s"}},
		"accepted, and the namespace terminates": {
			[]func(*input){settled, terminating},
			[]string{"HubAcceptedManagedCluster True NamespaceTerminating", later},
		},
		"accepted, and the namespace of a former cluster terminates": {
			[]func(*input){settled, terminating, func(in *input) { in.cluster.Status.Conditions = nil }},
			[]string{"HubAcceptedManagedCluster False NamespaceTerminating", later},
		},
		"accepted, the namespace terminates, and works wait for their agent": {
			[]func(*input){settled, terminating, func(in *input) { in.works = handedBack("new!", "kept") }},
			[]string{"HubAcceptedManagedCluster True NamespaceTerminating", later},
		},
		"accepted, the namespace terminates, and works are handed back": {
			[]func(*input){settled, terminating, func(in *input) {
				in.works = handedBack("w!", "other!")
				in.works.objects[1].Finalizers = []string{"example.com/other"}
				in.now = now.Add(handBackDelay)
			}},
			[]string{"patch PartialObjectMetadata w", "event WorkHandedBack", "HubAcceptedManagedCluster True NamespaceTerminating", later},
		},
		"accepted, the namespace terminates, and the role of the agent is gone": {
			[]func(*input){settled, terminating, func(in *input) { in.clusterRole = nil }},
			[]string{"create ClusterRole …c1", "HubAcceptedManagedCluster True NamespaceTerminating", later},
		},
		"denied, the namespace terminates, and works are handed back": {
			[]func(*input){denied, settled, terminating, func(in *input) { in.works, in.now = handedBack("w!"), now.Add(handBackDelay) }},
			[]string{"patch PartialObjectMetadata w", "event WorkHandedBack", later},
		},
		"accepted, and a binding is gone": {
			[]func(*input){settled, func(in *input) { in.workBinding = nil }},
			[]string{"create RoleBinding …c1:work"},
		},
		"accepted, and a binding has another subject": {
			[]func(*input){settled, func(in *input) { in.workBinding.Subjects = nil }},
			[]string{"patch RoleBinding …c1:work"},
		},
		"accepted, and a binding has another role": {
			[]func(*input){settled, func(in *input) { in.workBinding.RoleRef.Name = "x" }},
			[]string{"delete RoleBinding …c1:work", "create RoleBinding …c1:work"},
		},
		"accepted, and a role has a further label": {[]func(*input){settled, func(in *input) { in.clusterRole.Labels["x"] = "y" }}, nil},
		"accepted, and a role lost its label": {
			[]func(*input){settled, func(in *input) { in.clusterRole.Labels = nil }},
			[]string{reduce},
		},
		"denied": {
			[]func(*input){denied},
			[]string{
				reduce, "delete RoleBinding …c1:registration", unprotect, "delete RoleBinding …c1:work",
				"HubAcceptedManagedCluster False HubClusterAdminDenied",
			},
		},
		"denied, with works": {
			[]func(*input){denied, func(in *input) { in.works = objects("ManifestWork", "w") }},
			[]string{reduce, "delete RoleBinding …c1:registration", unprotect, "HubAcceptedManagedCluster False HubClusterAdminDenied", later},
		},
		"denied, and works cannot be read": {
			[]func(*input){denied, func(in *input) { in.works.unknown = true }},
			[]string{reduce, "delete RoleBinding …c1:registration", unprotect, "HubAcceptedManagedCluster False HubClusterAdminDenied", later},
		},
		"denied, and everything is withdrawn":     {[]func(*input){denied, settled}, nil},
		"denied after it was accepted, simulated": {[]func(*input){denied, simulated, settled}, nil},
		"simulated after it was accepted": {
			[]func(*input){settled, simulated},
			[]string{reduce, "delete RoleBinding …c1:registration", unprotect, "delete RoleBinding …c1:work"},
		},
		"simulated after it was accepted, with works": {[]func(*input){
			settled, simulated,
			func(in *input) { in.works = objects("ManifestWork", "w") },
		}, []string{reduce, "delete RoleBinding …c1:registration", unprotect, later}},
		"simulated, and everything is withdrawn": {[]func(*input){settled, simulated, settled, simulationReported}, nil},
		"accepted, with the driver token": {
			[]func(*input){settled, byToken},
			[]string{"create ServiceAccount berth-agent", "create RoleBinding berth-agent-account"},
		},
		"its agent has joined": {[]func(*input){byToken, settled, func(in *input) {
			in.cluster.Annotations[clusterv1.AgentTokenAnnotationKey] = "u1/100"
		}}, []string{"patch RoleBinding berth-agent-account"}},
		"another member has joined": {[]func(*input){byToken, settled, func(in *input) {
			in.cluster.Annotations[clusterv1.AgentTokenAnnotationKey], in.cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] = "u1/100", "u2"
		}}, nil},
		"its account was deleted before it was recorded": {
			[]func(*input){byToken, settled, func(in *input) { in.account = nil }},
			[]string{"create ServiceAccount berth-agent"},
		},
		"its account was deleted": {[]func(*input){byToken, settled, func(in *input) {
			in.account, in.cluster.Annotations[clusterv1.AgentAccountAnnotationKey] = nil, "u"
		}}, []string{"HubAcceptedManagedCluster True AgentRevoked"}},
		"its account was deleted, and that is reported": {[]func(*input){byToken, settled, func(in *input) {
			in.account, in.cluster.Annotations[clusterv1.AgentAccountAnnotationKey] = nil, "u"
		}, settled}, nil},
		"its account was deleted, and the cluster is accepted again": {[]func(*input){byToken, settled, func(in *input) {
			in.account, in.cluster.Annotations[clusterv1.AgentAccountAnnotationKey] = nil, "u"
		}, settled, func(in *input) {
			delete(in.cluster.Annotations, clusterv1.AgentAccountAnnotationKey)
		}}, []string{"create ServiceAccount berth-agent", "HubAcceptedManagedCluster True HubClusterAdminAccepted"}},
		"the driver is csr again": {[]func(*input){byToken, settled, func(in *input) {
			delete(in.cluster.Annotations, clusterv1.DriverAnnotationKey)
		}}, []string{"delete RoleBinding berth-agent-account", "delete ServiceAccount berth-agent"}},
		"denied, with the driver token": {[]func(*input){byToken, denied}, []string{
			reduce, "delete RoleBinding …c1:registration", "delete RoleBinding berth-agent-account", unprotect, "delete RoleBinding …c1:work",
			"HubAcceptedManagedCluster False HubClusterAdminDenied",
		}},
		"deleted without our finalizer": {[]func(*input){deleted, func(in *input) { in.cluster.Finalizers = nil }}, nil},
		"deleted, with add-ons and works": {
			content([]string{"a"}, []string{"w"}),
			[]string{reduce, "delete PartialObjectMetadata a", remaining, later},
		},
		"deleted, with works of priorities": {
			content(nil, []string{"b@10", "a@9", "c@9", "d@11"}),
			[]string{reduce, "delete PartialObjectMetadata a", "delete PartialObjectMetadata c", remaining, later},
		},
		"deleted, with works of bad priorities": {
			content(nil, []string{"b@1", "a@101", "c@x"}),
			[]string{reduce, "delete PartialObjectMetadata a", "delete PartialObjectMetadata c", remaining, later},
		},
		"deleted, and its workloads stay": {
			content([]string{"a"}, []string{"v", "w!"}, keeps),
			[]string{reduce, "patch ManifestWork v", "patch ManifestWork w", remaining, "again in 1s"},
		},
		"deleted, and its workloads stay, once each work was written": {
			content(nil, []string{"w"}, keeps, func(in *input) {
				in.works.objects[0].Annotations = map[string]string{clusterv1.OnDeleteAnnotationKey: clusterv1.OnDeleteKeep}
			}), []string{reduce, "delete PartialObjectMetadata w", remaining, later},
		},
		"deleted, and its workloads stay, the works of add-ons do not": {
			content(nil, []string{"w"}, keeps, func(in *input) { in.works.objects[0].Labels = map[string]string{approval.AddOnLabel: "a"} }),
			[]string{reduce, "delete PartialObjectMetadata w", remaining, later},
		},
		"deleted, and the agent has work to do": {content(nil, []string{"a!"}), []string{reduce, remaining, later}},
		"deleted, and a silent agent may be replaced": {
			content(nil, []string{"a!"}, force, silent),
			[]string{reduce, "patch PartialObjectMetadata a", "event ForcedRemoval", remaining, later},
		},
		"deleted, the agent is silent without consent": {content(nil, []string{"a!"}, silent), []string{reduce, remaining, later}},
		"deleted, works wait no longer": {
			content(nil, []string{"a!"}, silent, limited),
			[]string{reduce, "patch PartialObjectMetadata a", "event ForcedRemoval", remaining, later},
		},
		"deleted, works wait a little longer": {
			content(nil, []string{"a!"}, silent, limited, func(in *input) { in.silent-- }),
			[]string{reduce, remaining, later},
		},
		"deleted, works have another finalizer": {content(nil, []string{"a!"}, silent, limited, func(in *input) {
			in.works.objects[0].Finalizers = []string{"example.com/other"}
		}), []string{reduce, remaining, later}},
		"deleted, add-ons wait":       {content([]string{"a!"}, nil, silent, limited), []string{reduce, remaining, later}},
		"deleted, the agent is there": {content(nil, []string{"a!"}, force), []string{reduce, remaining, later}},
		"deleted, the time has not come": {content(nil, []string{"a!"}, force, silent,
			func(in *input) { in.cluster.DeletionTimestamp.Time = now }), []string{reduce, remaining, later}},
		"deleted, works of a foreign namespace stay": {
			content(nil, []string{"a"}, func(in *input) { in.namespace.Labels = nil }),
			append(slices.Clone(withdrawn), "remove the finalizers"),
		},
		"deleted, the namespace is to be listed": {
			[]func(*input){deleted},
			end("create RoleBinding berth-inventory", withdrawn[4], "again in 1s"),
		},
		"deleted, the namespace is empty": {
			[]func(*input){inventoried()},
			end(unprotect, "delete Namespace c1", withdrawn[4], "remove the finalizers"),
		},
		"deleted, the namespace is not listed yet": {
			[]func(*input){inventoried(func(in *input) { in.inventory = inventory{} })},
			end(withdrawn[4], "again in 1s"),
		},
		"deleted, the namespace cannot be listed": {[]func(*input){inventoried(func(in *input) {
			in.inventory, in.inventoryBinding.CreationTimestamp.Time = inventory{}, now.Add(-time.Hour)
		})}, end(unprotect, "delete RoleBinding berth-inventory", "event NamespaceKept", withdrawn[4], "remove the finalizers")},
		"deleted, the namespace has a foreign object": {
			[]func(*input){inventoried(func(in *input) { in.inventory.foreign = []string{"secrets/a"} })},
			end(unprotect, "delete RoleBinding berth-inventory", "event NamespaceKept", withdrawn[4], "remove the finalizers"),
		},
		"deleted, the manager may not list": {
			[]func(*input){deleted, func(in *input) { in.inventory.refused = true }},
			end(unprotect, "event NamespaceKept", withdrawn[4], "remove the finalizers"),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := text(makePlan(given(test.in...)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOnlyTheRecordedAgentGetsPermissionsWhereUsersAreBound lists the subjects of the binding of a cluster.
func TestOnlyTheRecordedAgentGetsPermissionsWhereUsersAreBound(t *testing.T) {
	recorded := func(in *input) { in.cluster.Annotations[clusterv1.AgentNameAnnotationKey] = "a1" }
	bindUser := func(in *input) { in.bindUser = true }
	all := []string{"Group system:open-cluster-management:c1", "Group open-cluster-management:c1", "ServiceAccount berth-agent"}
	for sentence, test := range map[string]struct {
		in   []func(*input)
		want []string
	}{
		"groups are bound":                          {[]func(*input){recorded}, all},
		"users are bound":                           {[]func(*input){recorded, bindUser}, []string{"User system:open-cluster-management:c1:a1"}},
		"users are bound, and no agent is recorded": {[]func(*input){bindUser}, all},
		"users are bound, with the driver token":    {[]func(*input){recorded, bindUser, byToken}, []string{"ServiceAccount berth-agent"}},
		"users are bound while it is denied": {
			[]func(*input){recorded, bindUser, denied},
			[]string{"User system:open-cluster-management:c1:a1"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			in := given(test.in...)
			settled(&in)
			var got []string
			for _, subject := range in.clusterRoleBinding.Subjects {
				got = append(got, subject.Kind+" "+subject.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("subjects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAClusterWithTheNameOfASharedRoleGetsNothing: its ClusterRole would be that of the works, or of the registration, of all agents.
func TestAClusterWithTheNameOfASharedRoleGetsNothing(t *testing.T) {
	for _, name := range []string{"work", "registration"} {
		named := func(changes ...func(*input)) []string {
			return text(makePlan(given(append([]func(*input){func(in *input) {
				in.cluster.Name = name
				in.clusterRole, in.clusterRoleBinding = clusterRole(name, true), in.clusterRoleBindingOf()
			}}, changes...)...)))
		}
		granted := func(in *input) { in.cluster.Finalizers = []string{clusterv1.ManagedClusterFinalizer} }
		for sentence, test := range map[string]struct{ got, want []string }{
			"accepted": {named(), []string{"HubAcceptedManagedCluster False Error"}},
			"denied":   {named(granted, func(in *input) { in.cluster.Spec.HubAcceptsClient = false }), nil},
			"deleted": {
				named(granted, func(in *input) { in.cluster.DeletionTimestamp = &metav1.Time{Time: now} }),
				[]string{"Deleting True NoResource", "remove the finalizers"},
			},
		} {
			if diff := cmp.Diff(test.want, test.got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, sentence, diff)
			}
		}
	}
	if got := makePlan(given(func(in *input) { in.cluster.Name = "work-1" })); len(got.writes) == 0 {
		t.Error("the cluster work-1 gets nothing")
	}
}

// TestSilence reads leases at several times. The time in a lease is compared only with the time before.
func TestSilence(t *testing.T) {
	cluster := given().cluster
	cluster.UID = "u1"
	far := now.Add(1000 * time.Hour) // the clock of the agent
	s := silence{seen: map[string]observation{}}
	step := func(what string, renewed time.Time, after time.Duration, want bool) {
		t.Helper()
		if got := s.observe(cluster, renewed, now.Add(after)); (got > 0) != want {
			t.Errorf("%s: silent for %s, want %t", what, got, want)
		}
	}
	step("first read", far, 0, false)
	step("within the grace period", far, 5*time.Minute-time.Second, false)
	step("after the grace period", far, 5*time.Minute, true)
	cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue}}
	step("while the cluster is reported as available", far, 6*time.Minute, false)
	cluster.Status.Conditions[0].Status = metav1.ConditionUnknown
	step("once it is Unknown", far, 7*time.Minute, true)
	step("renewed", far.Add(time.Second), 8*time.Minute, false)
	cluster.UID = "u2"
	step("another cluster of this name", far.Add(time.Second), time.Hour, false)
	s.evict("c1")
	if len(s.seen) > 0 {
		t.Errorf("observations are left: %v", s.seen)
	}
}

func TestWhatBelongsToACluster(t *testing.T) {
	object := func(name string, labels, annotations map[string]string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations}}
	}
	label := map[string]string{clusterv1.ClusterNameLabelKey: "c1"}
	for sentence, test := range map[string]struct {
		resource string
		object   *metav1.PartialObjectMetadata
		want     bool
	}{
		"its lease":                   {"leases.coordination.k8s.io", object(clusterv1.ManagedClusterLeaseName, nil, nil), true},
		"a lease of another client":   {"leases.coordination.k8s.io", object("a", nil, nil), false},
		"a lease of another group":    {"leases.example.com", object(clusterv1.ManagedClusterLeaseName, nil, nil), false},
		"an event of another group":   {"events.example.com", object("e", nil, nil), false},
		"a binding of another group":  {"rolebindings.example.com", object("b", label, nil), false},
		"an event of the newer group": {"events.events.k8s.io", object("e", nil, nil), true},
		"an event":                    {"events", object("e", nil, nil), true},
		"the CA of the hub":           {"configmaps", object("kube-root-ca.crt", nil, nil), true},
		"a configuration":             {"configmaps", object("a", label, nil), false},
		"the account of the agent":    {"serviceaccounts", object("berth-agent", nil, nil), true},
		"an account":                  {"serviceaccounts", object("a", label, nil), false},
		"the token of the agent":      {"secrets", object("t", nil, map[string]string{corev1.ServiceAccountNameKey: "berth-agent"}), true},
		"a secret":                    {"secrets", object("t", label, nil), false},
		"its binding":                 {"rolebindings.rbac.authorization.k8s.io", object("b", label, nil), true},
		"a binding":                   {"rolebindings.rbac.authorization.k8s.io", object("b", nil, nil), false},
		"a placement":                 {"placements.cluster.open-cluster-management.io", object("p", label, nil), false},
		"a kind that is not known":    {"widgets.example.com", object("w", label, nil), false},
		"a score of the cluster":      {"addonplacementscores.cluster.open-cluster-management.io", object("s", nil, nil), true},
		"a binding of another cluster": {
			"rolebindings.rbac.authorization.k8s.io",
			object("b", map[string]string{clusterv1.ClusterNameLabelKey: "c10"}, nil), false,
		},
	} {
		if got := belongs(schema.ParseGroupResource(test.resource), test.object, "c1"); got != test.want {
			t.Errorf("%s: belongs %t, want %t", sentence, got, test.want)
		}
	}
}

// TestAWorkThatStaysIsOrphaned: the patch of a work has what its agent needs, and nothing else of the spec.
func TestAWorkThatStaysIsOrphaned(t *testing.T) {
	in := given(deleted, func(in *input) { in.works, in.keeps = objects("ManifestWork", "w"), true })
	in.works.objects[0].ResourceVersion = "7"
	for _, w := range in.orphaned() {
		got, err := apply.Fenced(w.before).Data(w.after)
		if err != nil {
			t.Fatal(err)
		}
		const want = `{"metadata":{"annotations":{"berth-project.io/on-delete":"Keep"},"resourceVersion":"7"},` +
			`"spec":{"deleteOption":{"propagationPolicy":"Orphan"}}}`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("patch (-want +got):\n%s", diff)
		}
	}
}
