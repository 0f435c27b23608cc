package work_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/admission/work"
	"github.com/berth-project/berth/internal/delivery/validation"
)

var errBoom = errors.New("boom")

// checker allows jane one account in one namespace.
type checker struct {
	account, namespace string
	err                error
}

func (c checker) Allowed(_ context.Context, user authenticationv1.UserInfo, a authorizationv1.ResourceAttributes) (bool, error) {
	want := authorizationv1.ResourceAttributes{
		Verb: "execute-as", Group: "work.open-cluster-management.io", Resource: "manifestworks", Namespace: c.namespace, Name: c.account,
	}
	return c.err == nil && user.Username == "jane" && user.UID == "u1" && user.Groups[0] == "devs" && user.Extra["scope"][0] == "s" &&
		a == want, c.err
}

// placements is a reader with one placement.
type placements struct {
	client.Reader

	selected int32
	err      error
}

func (p placements) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if p.err != nil {
		return p.err
	}
	if key.Name != "everywhere" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "placements"}, key.Name)
	}
	object.(*clusterv1beta1.Placement).Status.NumberOfSelectedClusters = p.selected //nolint:forcetypeassert // only placements are read
	return nil
}

// List has the groups canary, with a cluster, and late, without.
func (p placements) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for i, name := range []string{"canary", "late"} {
		slice := clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(i), clusterv1beta1.DecisionGroupNameLabel: name,
		}}}
		if name == "canary" {
			slice.Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: "c1"}}
		}
		decisions := list.(*clusterv1beta1.PlacementDecisionList) //nolint:forcetypeassert // only decisions are listed
		decisions.Items = append(decisions.Items, slice)
	}
	return nil
}

// answer is a response in the words of the tests: the status code and message of a refusal, or the warnings.
type answer struct {
	Code     int32
	Message  string
	Warnings []string
}

// send sends a write of an object, in YAML, as jane.
func send(t *testing.T, handler http.Handler, old, after string) answer {
	t.Helper()
	raw := func(text string) runtime.RawExtension {
		if text == "" {
			return runtime.RawExtension{}
		}
		out, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: out}
	}
	request := &admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Create, Object: raw(after), OldObject: raw(old),
		UserInfo: authenticationv1.UserInfo{
			Username: "jane", UID: "u1", Groups: []string{"devs"},
			Extra: map[string]authenticationv1.ExtraValue{"scope": {"s"}},
		},
	}
	if old != "" {
		request.Operation = admissionv1.Update
	}
	sent := admissionv1.AdmissionReview{Request: request}
	sent.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	body, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	post := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
	post.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, post)
	var answered admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &answered); err != nil {
		t.Fatal(err)
	}
	if answered.Response.Allowed {
		return answer{Warnings: answered.Response.Warnings}
	}
	return answer{Code: answered.Response.Result.Code, Message: answered.Response.Result.Message}
}

func validator(t *testing.T) *validation.Validator {
	t.Helper()
	out, err := validation.New(validation.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: a}}"
	unnamed   = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop}}"
	deployer  = "system:serviceaccount:shop:deployer"
	agent     = "system:serviceaccount::klusterlet-work-sa"

	withExecutor = "executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: shop, name: deployer}}}"
	nilWarning   = "spec.executor is not set, so the agent applies the manifests with its own permissions; set it to a " +
		"service account of the member"
)

func object(more string, manifests ...string) string {
	out := "{metadata: {namespace: c1, name: w}, spec: {workload: {manifests: [" + strings.Join(manifests, ", ") + "]}"
	if more != "" {
		out += ", " + more
	}
	return out + "}}"
}

func TestWorks(t *testing.T) {
	refused := func(namespace, name, account string) string {
		return `manifestworks.work.open-cluster-management.io "w" is forbidden: user jane cannot manipulate the Manifestwork with executor ` +
			namespace + "/" + name +
			` in namespace c1: this needs the verb "execute-as" on "manifestworks" in the API group "work.open-cluster-management.io" with the resourceName "` + account + `"`
	}
	const invalid = `ManifestWork.work.open-cluster-management.io "w" is invalid: spec.workload.manifests[0].metadata.name: Required value: name must be set in manifest`
	for name, tc := range map[string]struct {
		nilExecutor work.NilExecutor
		rights      checker
		old, after  string
		want        answer
	}{
		"an executor with the right": {after: object(withExecutor, configMap), rights: checker{account: deployer, namespace: "c1"}},
		"an executor without": {
			after: object(withExecutor, configMap),
			want:  answer{Code: 403, Message: refused("shop", "deployer", deployer)},
		},
		"the right in another namespace": {
			after: object(withExecutor, configMap), rights: checker{account: deployer, namespace: "c2"},
			want: answer{Code: 403, Message: refused("shop", "deployer", deployer)},
		},
		"manifests changed beside the executor": {
			old:   object(withExecutor, configMap),
			after: object(withExecutor, configMap, strings.Replace(configMap, "name: a", "name: b", 1)),
			want:  answer{Code: 403, Message: refused("shop", "deployer", deployer)},
		},
		"the executor removed, with a warning": {
			nilExecutor: work.NilExecutorWarn, old: object(withExecutor, configMap),
			after: object("", configMap), want: answer{Warnings: []string{nilWarning}},
		},
		"no executor, ignored": {nilExecutor: work.NilExecutorIgnore, after: object("", configMap)},
		"no executor, reviewed": {
			nilExecutor: work.NilExecutorReview, after: object("", configMap),
			want: answer{Code: 403, Message: refused("", "klusterlet-work-sa", agent)},
		},
		"no executor, reviewed with the right": {
			nilExecutor: work.NilExecutorReview, after: object("", configMap),
			rights: checker{account: agent, namespace: "c1"},
		},
		"an invalid work": {
			nilExecutor: work.NilExecutorIgnore, after: object("", unnamed),
			want: answer{Code: 400, Message: invalid},
		},
		"a work that becomes invalid": {
			nilExecutor: work.NilExecutorIgnore, old: object("", configMap), after: object("", unnamed),
			want: answer{Code: 400, Message: invalid},
		},
		"a work that is as invalid as it was": {
			nilExecutor: work.NilExecutorIgnore, old: object("", unnamed),
			after: object("deleteOption: {propagationPolicy: Orphan}", unnamed),
		},
		"a review that fails": {
			after: object(withExecutor, configMap), rights: checker{err: errBoom},
			want: answer{Code: 500, Message: "Internal error occurred: the request could not be checked, so it is denied; try again: boom"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := send(t, work.Validating(validator(t), tc.rights, tc.nilExecutor), tc.old, tc.after)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSets(t *testing.T) {
	set := func(template string, refs ...string) string {
		return "{metadata: {namespace: team, name: s}, spec: {manifestWorkTemplate: {" + template + "}, placementRefs: [" +
			strings.Join(refs, ", ") + "]}}"
	}
	approvedGroup := func(revision string) string {
		return "{name: everywhere, rolloutStrategy: {type: Progressive, approval: {approved: [{groupName: first}], revision: '" + revision +
			"'}}}"
	}
	mandatory := func(groups string) string {
		return "{name: everywhere, rolloutStrategy: {type: Progressive, progressive: {mandatoryDecisionGroups: [" + groups + "]}}}"
	}
	waits := func(group string) string {
		return "spec.placementRefs[0].rolloutStrategy: the mandatory group with " + group +
			` has no cluster in the decision of Placement "everywhere", ` +
			"whose groups are 0 (canary), 1 (late): the rollout will wait, with phase MandatoryGroupUnproven, until one of its " +
			"clusters has succeeded or " +
			"`kubectl berth rollout approve` passes it; correct the reference, or the decision groups of the placement"
	}
	const manifests, everywhere = "workload: {manifests: [" + configMap + "]}", "{name: everywhere}"
	refused := func(namespace, name, account string) string {
		return `manifestworkreplicasets.work.open-cluster-management.io "s" is forbidden: user jane cannot manipulate the Manifestwork with executor ` + namespace + "/" + name +
			` in namespace team: this needs the verb "execute-as" on "manifestworks" in the API group "work.open-cluster-management.io" with the resourceName "` + account + `"`
	}
	mayDeploy := checker{account: deployer, namespace: "team"}
	for name, tc := range map[string]struct {
		rights     checker
		placements placements
		old, after string
		want       answer
	}{
		"an executor with the right": {after: set(manifests+", "+withExecutor, everywhere), rights: mayDeploy},
		"an executor without": {
			after: set(manifests+", "+withExecutor, everywhere),
			want:  answer{Code: 403, Message: refused("shop", "deployer", deployer)},
		},
		"no executor is the agent": {
			after: set(manifests, everywhere), rights: mayDeploy,
			want: answer{Code: 403, Message: refused("", "klusterlet-work-sa", agent)},
		},
		"no executor, with the right": {after: set(manifests, everywhere), rights: checker{account: agent, namespace: "team"}},
		"another placement, executor as before": {
			old: set(manifests+", "+withExecutor, everywhere), after: set(manifests+", "+withExecutor, everywhere, "{name: new}"),
			want: answer{Code: 403, Message: refused("shop", "deployer", deployer)},
		},
		"a placement that does not exist": {
			after: set(manifests+", "+withExecutor, everywhere, "{name: new}"), rights: mayDeploy,
			want: answer{
				Warnings: []string{`spec.placementRefs[1]: there is no Placement "new" in the namespace "team" yet, so it selects no cluster`},
			},
		},
		"mandatory groups that have a cluster": {
			after: set(manifests+", "+withExecutor, mandatory("{groupName: canary}, {groupIndex: 0}")), rights: mayDeploy,
		},
		"a mandatory group that does not exist": {
			after: set(manifests+", "+withExecutor, mandatory("{groupName: canry}")), rights: mayDeploy,
			want: answer{Warnings: []string{waits("groupName canry")}},
		},
		"mandatory groups by an index beyond the last, and without a cluster": {
			after: set(manifests+", "+withExecutor, mandatory("{groupIndex: 7}, {groupName: late}")), rights: mayDeploy,
			want: answer{Warnings: []string{waits("groupIndex 7"), waits("groupName late")}},
		},
		"a placement that cannot be read": {
			after: set(manifests+", "+withExecutor, everywhere), rights: mayDeploy,
			placements: placements{err: errBoom},
		},
		"no manifest": {
			after: set(withExecutor, everywhere), rights: mayDeploy,
			want: answer{
				Code:    400,
				Message: `ManifestWorkReplicaSet.work.open-cluster-management.io "s" is invalid: spec.manifestWorkTemplate.workload.manifests: Required value: manifests should not be empty`,
			},
		},
		"the template changes beside approvals": {
			old:    set(manifests+", "+withExecutor, approvedGroup("")),
			after:  set(strings.Replace(manifests, "name: a", "name: b", 1)+", "+withExecutor, approvedGroup("")),
			rights: mayDeploy,
			want: answer{Warnings: []string{"spec.placementRefs[0].rolloutStrategy.approval: the template changes, and " +
				"the 1 approved groups start " +
				"with it without another approval: " +
				"empty approved in the same change, or set revision, as kubectl berth rollout approve does"}},
		},
		"approvals for a revision": {
			old:    set(manifests+", "+withExecutor, approvedGroup("r1")),
			after:  set(strings.Replace(manifests, "name: a", "name: b", 1)+", "+withExecutor, approvedGroup("r1")),
			rights: mayDeploy,
		},
		"other changes beside approvals": {
			old:   set(manifests+", "+withExecutor, everywhere),
			after: set(manifests+", "+withExecutor, approvedGroup("")), rights: mayDeploy,
		},
		"many clusters with a large template": {
			after: set("workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: a}, data: {k: "+
				strings.Repeat("x", 100_000)+"}}]}, "+withExecutor, everywhere),
			rights: mayDeploy, placements: placements{selected: 3000},
			want: answer{Warnings: []string{"each change writes 300 MB to the hub, 100 kB for each of 3000 clusters; two such changes within 5 " +
				"minutes may fill its storage"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := send(t, work.ValidatingSet(validator(t), tc.rights, tc.placements), tc.old, tc.after)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}
