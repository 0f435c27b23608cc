package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/assumed"
	"github.com/berth-project/berth/internal/kube/evidence"
)

var (
	start   = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	errBoom = errors.New("boom")
)

const progressive = "{type: Progressive, progressive: {maxConcurrency: 1}}"

// state is a hub with one set, as the API server stores it and as a cache shows it.
type state struct {
	set        *workv1alpha1.ManifestWorkReplicaSet
	placements map[string]plan.Placement
	stored     map[types.NamespacedName]*workv1.ManifestWork
	// cached are the works as the cache shows them. While frozen is set, it does not follow.
	cached map[types.NamespacedName]*workv1.ManifestWork
	frozen bool
	own    *assumed.Cache[*workv1.ManifestWork]
	faults map[string]plan.Fault
	now    time.Time
	// version is the last resourceVersion.
	version int
	// templates are all templates of the set, by hash. Those in kept can still be written.
	templates map[string]*workv1.ManifestWorkSpec
	kept      map[string]bool
	obstacle  string
	// fleet are the clusters that overrides read.
	fleet map[string]*clusterv1.ManagedCluster
	// undeliverable is why clusters get no works.
	undeliverable map[string]string
	// forgiven means that a person forgives every failure. passed are the mandatory groups that a person passes.
	forgiven bool
	// returns means that a person lets the clusters return to the present template at once, paused that a person paused all.
	returns, paused bool
	passed          []string
	// withoutFormer is the hash of the template that a person lets start although the former one is not kept.
	withoutFormer string
	// approvesIndex approves the group with the index 1.
	approvesIndex bool
	// returned is a decision to return at once that was made before; nil for none.
	returned *rolloutv1alpha1.TemplateDecision
	// unkept is why the present template cannot be stored.
	unkept string
	// members are what is known of clusters.
	members map[string]evidence.Member
	// written lists all writes, as "Verb cluster/name".
	written []string
}

// newState returns a hub with the set shop/web of template 1, with placements such as "p" or "p={type: Progressive}".
func newState(t testing.TB, placements ...string) *state {
	t.Helper()
	w := &state{
		set: &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "set-uid",
			Generation: 1,
		}},
		placements: map[string]plan.Placement{}, stored: map[types.NamespacedName]*workv1.ManifestWork{},
		cached: map[types.NamespacedName]*workv1.ManifestWork{}, templates: map[string]*workv1.ManifestWorkSpec{}, kept: map[string]bool{},
		fleet: map[string]*clusterv1.ManagedCluster{}, own: &assumed.Cache[*workv1.ManifestWork]{},
		faults: map[string]plan.Fault{}, now: start,
	}
	for _, text := range placements {
		name, strategy, _ := strings.Cut(text, "=")
		w.set.Spec.PlacementRefs = append(w.set.Spec.PlacementRefs,
			workv1alpha1.LocalPlacementReference{Name: name, RolloutStrategy: parseStrategy(t, strategy)})
	}
	w.template("1")
	return w
}

func parseStrategy(t testing.TB, text string) workv1alpha1.PlacementRolloutStrategy {
	t.Helper()
	out := clusterv1alpha1.RolloutStrategy{}
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return workv1alpha1.PlacementRolloutStrategy{RolloutStrategy: out}
}

// template changes the template of the set.
func (s *state) template(value string) {
	s.set.Generation++
	s.set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"web"},"data":{"value":"` + value + `"}}`),
	}}}
}

func (s *state) hash(t testing.TB) string {
	t.Helper()
	hash, err := plan.TemplateHash(&s.set.Spec.ManifestWorkTemplate)
	if err != nil {
		t.Fatal(err)
	}
	s.templates[hash] = s.set.Spec.ManifestWorkTemplate.DeepCopy()
	return hash
}

// selects sets the decision of a placement: clusters by group, such as "a b|c" or "canary:a|b"; "-" for a placement without slices.
func (s *state) selects(placement, text string) {
	object := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: placement}}
	var all []*clusterv1beta1.PlacementDecision
	for i, group := range strings.Split(text, "|") {
		if text == "-" {
			break
		}
		name, clusters, named := strings.Cut(group, ":")
		if !named {
			name, clusters = "", group
		}
		slice := slice(placement, i, i, strings.Fields(clusters)...)
		if named {
			slice.Labels[clusterv1beta1.DecisionGroupNameLabel] = name
		}
		all = append(all, slice)
		object.Status.NumberOfSelectedClusters += int32(len(slice.Status.Decisions))
	}
	s.placements[placement] = plan.Placement{Object: object, Decisions: decision.Of(all...)}
}

// slice returns a slice of a placement.
func slice(placement string, number, group int, clusters ...string) *clusterv1beta1.PlacementDecision {
	out := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: fmt.Sprintf("%s-%d", placement, number),
		Labels: map[string]string{clusterv1beta1.PlacementLabel: placement, clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(group)},
	}}
	for _, cluster := range clusters {
		out.Status.Decisions = append(out.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
	}
	return out
}

// observe lets the cache catch up.
func (s *state) observe() {
	for key, work := range s.cached {
		if s.stored[key] == nil {
			s.own.ObserveDelete(key, work.UID)
		}
	}
	s.cached = map[types.NamespacedName]*workv1.ManifestWork{}
	for key, work := range s.stored {
		s.cached[key] = plan.Strip(work.DeepCopy())
	}
}

func (s *state) input(t testing.TB) plan.Input {
	t.Helper()
	in := plan.Input{
		Set: s.set, Hash: s.hash(t), Placements: s.placements, Faults: s.faults, Kept: s.kept, Now: s.now,
		Works: s.own.Overlay(slices.Collect(maps.Values(s.cached)), s.now), Invalid: s.renderer().Invalid(), Obstacle: s.obstacle,
		Undeliverable: s.undeliverable, Members: s.members, Unkept: s.unkept,
		Control: s.control(t),
	}
	in.FinishedBefore = s.set.Status.CurrentRevision == in.Hash
	if s.renderer() != nil && in.Invalid == "" {
		in.Rendered, in.Former = s.rendered(in.Hash), s.rendered(s.set.Status.CurrentRevision)
	}
	return in
}

// control returns what people decided.
func (s *state) control(t testing.TB) *rolloutv1alpha1.RolloutControl {
	t.Helper()
	out := &rolloutv1alpha1.RolloutControl{Spec: rolloutv1alpha1.RolloutControlSpec{Paused: s.paused}}
	if s.returns {
		out.Spec.ReturnNow = &rolloutv1alpha1.TemplateDecision{Revision: s.hash(t), Time: metav1.NewMicroTime(start)}
	}
	if s.returned != nil {
		out.Spec.ReturnNow = s.returned
	}
	if s.withoutFormer != "" {
		out.Spec.WithoutFormer = &rolloutv1alpha1.TemplateDecision{Revision: s.withoutFormer}
	}
	for name := range s.placements {
		if s.approvesIndex {
			out.Spec.Approvals = append(out.Spec.Approvals, rolloutv1alpha1.GroupApproval{
				MandatoryDecisionGroup: clusterv1alpha1.MandatoryDecisionGroup{GroupIndex: 1}, Placement: name, Revision: s.hash(t),
				For: rolloutv1alpha1.ApprovalStart,
			})
		}
		for _, group := range s.passed {
			out.Spec.Approvals = append(out.Spec.Approvals, rolloutv1alpha1.GroupApproval{
				MandatoryDecisionGroup: clusterv1alpha1.MandatoryDecisionGroup{GroupName: group}, Placement: name, Revision: s.hash(t),
				For: rolloutv1alpha1.ApprovalProof,
			})
		}
	}
	if s.forgiven {
		for _, name := range fleetNames {
			out.Spec.Forgiven = append(out.Spec.Forgiven, rolloutv1alpha1.ForgivenCluster{Cluster: name, Revision: s.hash(t), Reason: "test"})
		}
	}
	return out
}

// compiler compiles the expressions of overrides.
var compiler = sync.OnceValue(func() *celenv.Env {
	env, err := celenv.New()
	if err != nil {
		panic(err)
	}
	return env
})

func (s *state) renderer() *plan.Renderer { return plan.NewRenderer(s.set, compiler(), 4096) }

// rendered returns what a template becomes on each selected cluster.
func (s *state) rendered(hash string) map[string]plan.Rendering {
	out := map[string]plan.Rendering{}
	if s.templates[hash] == nil {
		return nil
	}
	for _, placement := range s.placements {
		for name := range placement.Decisions.ClusterNames() {
			_, out[name] = s.renderer().Render(s.templates[hash], hash, s.fleet[name])
		}
	}
	return out
}

// spec returns the spec that a write stores.
func (s *state) spec(write plan.Write) *workv1.ManifestWorkSpec {
	if write.Revision == "" {
		return nil
	}
	out, _ := s.renderer().Render(s.templates[write.Revision], write.Revision, s.fleet[write.Cluster])
	return out
}

// label sets the label "site" of a cluster; the empty value removes it.
func (s *state) label(cluster, value string) {
	s.fleet[cluster] = &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster, Labels: map[string]string{"site": value}}}
	if value == "" {
		s.fleet[cluster].Labels = nil
	}
}

// siteOverride writes the label "site" of a cluster into the ConfigMap of the template.
const siteOverride = `[{targets: [{resource: configmaps, namespace: shop, name: web}], patches: [{op: add, path: /data/site, value: "${cluster.labels['site']}"}]}]`

func (s *state) overrides(t testing.TB, text string) {
	t.Helper()
	s.set.Generation++
	s.set.Spec.Overrides = nil
	if err := yaml.UnmarshalStrict([]byte(text), &s.set.Spec.Overrides); err != nil {
		t.Fatal(err)
	}
}

// data returns the data of the ConfigMap in the only work of a cluster, such as "value=1 site=x"; empty without a work.
func (s *state) data(t testing.TB, cluster string) string {
	t.Helper()
	work := s.work(t, cluster)
	if work == nil || len(work.Spec.Workload.Manifests) == 0 {
		return ""
	}
	var content struct {
		Data map[string]string `json:"data"`
	}
	if err := json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &content); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace("value=" + content.Data["value"] + " site=" + content.Data["site"])
}

// pass plans, applies every write and stores the status, and does so once more for the clusters that went on record. The cache follows
// unless it is frozen.
func (s *state) pass(t testing.TB) plan.Result {
	t.Helper()
	out := s.onePass(t)
	if out.Begins {
		next := s.onePass(t)
		next.Writes = append(out.Writes, next.Writes...)
		out = next
	}
	return out
}

// rollOut lets clusters report success, a wave after the other, until the present template is rolled out.
func (s *state) rollOut(t testing.TB, clusters string) {
	t.Helper()
	for range strings.FieldsSeq(clusters) {
		s.pass(t)
		s.agents(t, clusters, healthy, s.now)
	}
	s.pass(t)
}

// runTo passes whenever a plan needs it, until an instant.
func (s *state) runTo(t testing.TB, at time.Time) plan.Result {
	t.Helper()
	out := s.pass(t)
	for s.now.Before(at) {
		next := at
		if !out.Until.IsZero() && out.Until.Before(at) {
			next = out.Until
		}
		if !next.After(s.now) {
			next = s.now.Add(time.Second)
		}
		s.now = next
		out = s.pass(t)
	}
	return out
}

// onePass plans, applies every write and stores the status.
func (s *state) onePass(t testing.TB) plan.Result {
	t.Helper()
	out := plan.Plan(s.input(t))
	for _, write := range out.Writes {
		if err := s.apply(write, true); err != nil {
			t.Fatalf("%s of %s/%s: %v", write.Verb, write.Cluster, write.Name, err)
		}
	}
	s.set.Status = out.Status
	if !s.frozen {
		s.observe()
	}
	return out
}

// apply stores one write as the API server would. If the response is lost, nothing is assumed.
func (s *state) apply(write plan.Write, response bool) error {
	key := types.NamespacedName{Namespace: write.Cluster, Name: write.Name}
	before := s.stored[key]
	s.written = append(s.written, fmt.Sprintf("%s %s", write.Verb, key))
	if write.Verb == plan.Create {
		if before != nil {
			return fmt.Errorf("already exists: %w", errBoom)
		}
		work := write.Object(s.spec(write))
		work.UID, work.Generation, work.CreationTimestamp = types.UID(fmt.Sprintf("uid-%d", s.version+1)), 1, metav1.NewTime(s.now)
		s.store(work, response)
		return nil
	}
	if before == nil || before.UID != write.UID || before.ResourceVersion != write.ResourceVersion {
		return fmt.Errorf("conflict: %w", errBoom)
	}
	if write.Verb == plan.Delete {
		s.deleteWork(key)
		if response {
			s.own.Delete(key, write.UID)
		}
		return nil
	}
	after, err := s.patch(before, write)
	if err != nil {
		return err
	}
	s.store(after, response)
	return nil
}

// patch applies the patch of a write.
func (s *state) patch(before *workv1.ManifestWork, write plan.Write) (*workv1.ManifestWork, error) {
	kind, patch, err := write.Patch(s.spec(write))
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	if kind == types.MergePatchType {
		text, err = jsonpatch.MergePatch(text, patch)
	} else if operations, decodeErr := jsonpatch.DecodePatch(patch); decodeErr == nil {
		text, err = operations.Apply(text)
	} else {
		err = decodeErr
	}
	if err != nil {
		return nil, err
	}
	after := &workv1.ManifestWork{}
	if err := json.Unmarshal(text, after); err != nil {
		return nil, err
	}
	if specOf(after) != specOf(before) {
		after.Generation++
	}
	return after, nil
}

func specOf(work *workv1.ManifestWork) string {
	return fmt.Sprintf("%s", work.Spec.Workload.Manifests) + fmt.Sprint(work.Spec.DeleteOption, work.Spec.ManifestConfigs, work.Spec.Executor)
}

func (s *state) store(work *workv1.ManifestWork, response bool) {
	s.version++
	work.ResourceVersion = strconv.Itoa(s.version)
	s.stored[types.NamespacedName{Namespace: work.Namespace, Name: work.Name}] = work
	if response {
		s.own.Set(plan.Strip(work.DeepCopy()), s.now)
	}
}

// deleteWork marks a work as deleted: its agent removes it with gone.
func (s *state) deleteWork(key types.NamespacedName) {
	work := s.stored[key].DeepCopy()
	if len(work.Finalizers) == 0 {
		delete(s.stored, key)
		return
	}
	if work.DeletionTimestamp == nil {
		work.DeletionTimestamp = new(metav1.NewTime(s.now))
		s.store(work, false)
	}
}

// work returns the only work of a cluster; nil without one.
func (s *state) work(t testing.TB, cluster string) *workv1.ManifestWork {
	t.Helper()
	var out *workv1.ManifestWork
	for key, work := range s.stored {
		if key.Namespace == cluster {
			if out != nil {
				t.Fatalf("%s has two works, %s and %s", cluster, out.Name, work.Name)
			}
			out = work
		}
	}
	return out
}

// agents lets the agents of clusters report conditions such as "Applied Available" or "Applied Progressing=False" of the present
// generation, at an instant, and removes the works that are being deleted.
func (s *state) agents(t testing.TB, clusters, conditions string, at time.Time) {
	t.Helper()
	for cluster := range strings.FieldsSeq(clusters) {
		for key, stored := range maps.Clone(s.stored) {
			if key.Namespace != cluster {
				continue
			}
			if stored.DeletionTimestamp != nil {
				delete(s.stored, key)
				continue
			}
			work := stored.DeepCopy()
			for word := range strings.FieldsSeq(conditions) {
				kind, status, has := strings.Cut(word, "=")
				if !has {
					status = "True"
				}
				meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{
					Type: kind, Status: metav1.ConditionStatus(status), Reason: "Test", ObservedGeneration: work.Generation,
					LastTransitionTime: metav1.NewTime(at),
				})
			}
			s.store(work, false)
		}
	}
	s.observe()
}

// clusters returns the clusters with a work of the present template that is not being deleted.
func (s *state) clusters(t testing.TB) string {
	t.Helper()
	var out []string
	for key, work := range s.stored {
		_, rendered := s.renderer().Render(&s.set.Spec.ManifestWorkTemplate, s.hash(t), s.fleet[key.Namespace])
		if work.DeletionTimestamp == nil && plan.IsCurrent(work, rendered.Hash) {
			out = append(out, key.Namespace)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// expectWrites fails unless the writes since the last call are these, in any order.
func (s *state) expectWrites(t testing.TB, want ...string) {
	t.Helper()
	name := "/" + plan.WorkName("shop", "web")
	var got []string
	for _, write := range s.written {
		got = append(got, strings.TrimSuffix(write, name))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("writes %q, want %q", got, want)
	}
	s.written = nil
}

// expectCondition fails unless a condition of the set has a status, a reason and a part of its message.
func (s *state) expectCondition(t testing.TB, kind, status, reason, message string) {
	t.Helper()
	got := meta.FindStatusCondition(s.set.Status.Conditions, kind)
	if got == nil || string(got.Status) != status || got.Reason != reason || !strings.Contains(got.Message, message) {
		t.Errorf("condition %s is %+v, want %s %s %q", kind, got, status, reason, message)
	}
}

// live lists the stored works as metadata.
func (s *state) live() []metav1.PartialObjectMetadata {
	var out []metav1.PartialObjectMetadata
	for _, work := range s.stored {
		out = append(out, metav1.PartialObjectMetadata{ObjectMeta: *work.ObjectMeta.DeepCopy()})
	}
	return out
}
