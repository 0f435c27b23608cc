package memberwork

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/agent/work"
	"github.com/berth-project/berth/internal/membership/join"
)

// installedAgent is the user of an agent that runs in its member.
const installedAgent = "system:serviceaccount:" + join.AgentNamespace + ":berth-agent"

const configA2 = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"a"},"data":{"k":"2"}}`

// TestAnAgentOfOCMKeepsTheWorks runs the agent, as it is installed with the profile bound, beside one of Open Cluster Management.
func TestAnAgentOfOCMKeepsTheWorks(t *testing.T) {
	f := newFixture(t)
	f.stop()
	f.install(join.ProfileBound)
	f.identity = member.ConfigFor(t, installedAgent)
	f.allowExecutor()
	other := f.ocmAgent()
	before, record := f.ofOCM("w")
	w := f.newWork("w", configA2)
	w.Finalizers = []string{workv1.ManifestWorkFinalizer}
	w.Spec.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
		Type: workv1.ExecutorSubjectTypeServiceAccount, ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{
			Namespace: "default",
			Name:      "deployer",
		},
	}}
	f.create(f.hub, w)

	f.start()
	f.staysOff(1)
	f.scale(other, 0)
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
	after := f.configMap("a")
	f.on.MustRead(after)
	if diff := cmp.Diff(map[string]string{"k": "2"}, after.Data); diff != "" || after.UID != before.UID {
		t.Errorf("the object %s is %s with the data (-want +got):\n%s", before.UID, after.UID, diff)
	}
	for _, entry := range after.ManagedFields {
		if entry.Manager == "work-agent" {
			t.Errorf("the former manager still owns %s", entry.FieldsV1)
		}
	}
	taken, err := f.record(t.Context(), "w")
	if err != nil || taken.UID != record.UID || len(taken.Status.AppliedResources) != 1 ||
		taken.Status.AppliedResources[0].UID != string(before.UID) {
		t.Errorf("the record %s is %+v, %v", record.UID, taken, err)
	}
	for _, write := range f.requests.list() {
		if strings.HasPrefix(write, http.MethodDelete) {
			t.Errorf("a record was taken over with %s", write)
		}
	}

	f.scale(other, 1)
	f.staysOff(2)
	f.change(w, func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests = []workv1.Manifest{f.manifest(configA)} })
	f.staysOff(2)
	f.on.MustDelete(other)
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
	f.remove(w)
	if err := f.gone(t.Context(), f.on, before); err != nil {
		t.Error("an object of a record that was taken over is left: ", err)
	}
}

// staysOff checks that the agent has named the Deployment a number of times, and writes nothing while it looks for it again.
func (f *fixture) staysOff(times int) {
	f.t.Helper()
	kit.Await(f.t, "the log names the Deployment of the other agent", func(context.Context) error {
		if got := strings.Count(f.log.String(), "Deployment open-cluster-management-agent/klusterlet-work-agent; scale it to 0"); got != times {
			return fmt.Errorf("the Deployment is named %d times, want %d", got, times)
		}
		return nil
	})
	var looks atomic.Int64
	f.requests.reset(func(request *http.Request) error {
		if strings.HasSuffix(request.URL.Path, "/deployments/klusterlet-work-agent") {
			looks.Add(1)
		}
		return nil
	})
	kit.Await(f.t, "the agent has looked five times", func(context.Context) error {
		if looks.Load() < 5 {
			return errors.New("the agent has not looked five times")
		}
		return nil
	})
	if diff := cmp.Diff([]string(nil), f.requests.list()); diff != "" {
		f.t.Errorf("writes beside another agent (-want +got):\n%s", diff)
	}
	if got := strings.Count(f.log.String(), "level=ERROR"); got != times {
		f.t.Errorf("%d errors are logged, want %d:\n%s", got, times, f.log.String())
	}
}

// install installs an agent in the member. A namespace that is being deleted delays it.
func (f *fixture) install(profile string) {
	f.t.Helper()
	kit.Await(f.t, "the agent is installed", func(ctx context.Context) error {
		return join.Agent{Cluster: f.cluster, Image: "berth-agent", Driver: "csr", Profile: profile}.Install(ctx, member.Config())
	})
}

// allowExecutor lets the account default/deployer write ConfigMaps of the cluster.
func (f *fixture) allowExecutor() {
	f.t.Helper()
	f.create(f.on,
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: f.cluster, Name: "deployer"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "patch", "delete"}},
		}},
		kit.RoleBinding(f.cluster, "deployer", kit.Role("deployer"), kit.ServiceAccount("default", "deployer")),
	)
}

// ocmAgent creates the Deployment that delivers works in Open Cluster Management.
func (f *fixture) ocmAgent() *appsv1.Deployment {
	f.t.Helper()
	labels := map[string]string{"app": "klusterlet-work-agent"}
	out := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: join.AgentNamespace, Name: "klusterlet-work-agent"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent"}}},
			},
		},
	}
	f.create(f.on, out)
	f.t.Cleanup(func() { _ = f.on.Delete(context.WithoutCancel(f.t.Context()), out) })
	return out
}

func (f *fixture) scale(of *appsv1.Deployment, replicas int32) {
	f.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	f.on.MustPatch(of, client.RawPatch("application/merge-patch+json", patch))
}

// ofOCM creates what an agent of Open Cluster Management has made of a work: the ConfigMap a, and the record.
func (f *fixture) ofOCM(name string) (*corev1.ConfigMap, *workv1.AppliedManifestWork) {
	f.t.Helper()
	hash := work.HubHash(f.url)
	record := &workv1.AppliedManifestWork{
		ObjectMeta: metav1.ObjectMeta{Name: hash + "-" + name, Finalizers: []string{workv1.AppliedManifestWorkFinalizer}},
		Spec:       workv1.AppliedManifestWorkSpec{HubHash: hash, AgentID: "uid-of-a-klusterlet", ManifestWorkName: name},
	}
	f.create(f.on, record)
	object := f.configMap("a")
	object.Data = map[string]string{"k": "1", "of-an-earlier-manifest": "1"}
	object.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: workv1.SchemeGroupVersion.String(), Kind: "AppliedManifestWork", Name: record.Name, UID: record.UID,
	}}
	kit.NoError(f.t, f.on.Create(f.t.Context(), object, client.FieldOwner("work-agent")))
	record.Status.AppliedResources = []workv1.AppliedManifestResourceMeta{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: f.cluster, Name: "a"}, Version: "v1",
		UID: string(object.UID),
	}}
	f.on.MustUpdateStatus(record)
	return object, record
}

// TestTheProfilesOfAnInstalledAgent installs an agent with each profile, and removes it.
func TestTheProfilesOfAnInstalledAgent(t *testing.T) {
	f := newFixture(t)
	f.stop()
	record := authorizationv1.ResourceAttributes{Group: workv1.GroupName, Resource: "appliedmanifestworks", Verb: "create"}
	deployer := authorizationv1.ResourceAttributes{Resource: "serviceaccounts", Namespace: "default", Name: "deployer", Verb: "impersonate"}
	team := authorizationv1.ResourceAttributes{Resource: "serviceaccounts", Namespace: "default", Name: "team", Verb: "impersonate"}
	object := authorizationv1.ResourceAttributes{Resource: "configmaps", Namespace: f.cluster, Verb: "create"}
	of := func(name string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Group: "apps", Resource: "deployments", Namespace: join.AgentNamespace, Name: name, Verb: "get"}
	}
	f.install(join.ProfileBound)
	f.may(true, record, deployer, of("klusterlet-work-agent"), of("klusterlet-agent"))
	f.may(false, team, object, of("berth-agent"))

	executors := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "berth:agent-executors"}}
	f.on.MustRead(executors)
	executors.Rules[0].ResourceNames = []string{"deployer", "team"}
	f.on.MustUpdate(executors)
	f.install(join.ProfileAdmin)
	f.may(true, record, deployer, team, object)
	f.install(join.ProfileBound)
	f.may(true, record, deployer, team)
	f.may(false, object)

	admin, err := join.NewClient(member.Config())
	if err == nil {
		err = join.Uninstall(t.Context(), admin)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.may(false, record, deployer, team, object)
}

// may waits until the member allows, or denies, the installed agent each request.
func (f *fixture) may(want bool, requests ...authorizationv1.ResourceAttributes) {
	f.t.Helper()
	for _, request := range requests {
		kit.Await(f.t, "the member allows, or denies, the installed agent each request", func(ctx context.Context) error {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               installedAgent,
				ResourceAttributes: &request,
			}}
			if err := f.on.Create(ctx, review); err != nil {
				return err
			}
			if review.Status.Allowed != want {
				return fmt.Errorf("%+v is allowed: %t, want %t", request, review.Status.Allowed, want)
			}
			return nil
		})
	}
}
