package plan_test

import (
	"encoding/base64"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/rollout"
)

// TestVector19AClusterThatJoinsAHeldRolloutGetsTheFormerTemplate follows vector 19, for a rollout that is paused, unapproved or breached.
func TestVector19AClusterThatJoinsAHeldRolloutGetsTheFormerTemplate(t *testing.T) {
	for sentence, strategy := range map[string]string{
		"paused":                      "{type: All, paused: true}",
		"not approved":                "{type: Progressive, approval: {required: [{groupIndex: 0}]}}",
		"former template is not kept": "{type: All, paused: true}",
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p")
			w.selects("p", "a")
			w.pass(t)
			w.agents(t, "a", "Applied Available Progressing=False", w.now)
			w.pass(t)
			former := w.hash(t)
			w.kept[former] = sentence != "former template is not kept"
			w.template("2")
			w.set.Spec.PlacementRefs[0].RolloutStrategy = parseStrategy(t, strategy)
			w.selects("p", "a b")
			w.written = nil
			w.pass(t)
			w.pass(t)
			if !w.kept[former] {
				w.expectWrites(t)
				return
			}
			w.expectWrites(t, "Create b")
			work := w.work(t, "b")
			if got := work.Annotations[workv1.TemplateHashAnnotation]; got != former ||
				!strings.Contains(string(work.Spec.Workload.Manifests[0].Raw), `"1"`) {
				t.Errorf("the new cluster got %s", got)
			}
			w.set.Spec.PlacementRefs[0].RolloutStrategy = parseStrategy(t, "")
			w.pass(t)
			w.expectWrites(t, "Update a", "Update b")
		})
	}
}

// kept are the kept templates of a set, as the API server stores them.
type kept map[string]plan.Revision

func (k kept) apply(todo plan.RevisionPlan) {
	if todo.Create != nil {
		k[todo.Create.GetName()] = todo.Create
	}
	if todo.Renew != nil {
		k[todo.Renew.GetName()] = plan.Renumbered(todo.Renew, todo.Number)
	}
	for _, revision := range slices.Concat(todo.Replaced, todo.Delete) {
		delete(k, revision.GetName())
	}
}

// inOrder returns the kept templates, the oldest first.
func (k kept) inOrder() []plan.Revision {
	return slices.SortedFunc(maps.Values(k), func(a, b plan.Revision) int { return int(plan.RevisionNumber(a) - plan.RevisionNumber(b)) })
}

func TestTemplatesAreKeptUpToTheLimit(t *testing.T) {
	w, stored := newState(t, "p"), kept{}
	w.set.Spec.RevisionHistoryLimit = new(int32(2))
	pass := func(value string) string {
		w.template(value)
		for range 2 {
			todo, err := plan.Revisions(w.set, w.hash(t), slices.Collect(maps.Values(stored)))
			if err != nil {
				t.Fatal(err)
			}
			stored.apply(todo)
		}
		return w.hash(t)
	}
	w.set.Status.CurrentRevision = pass("1")
	for _, value := range []string{"2", "3", "4", "5", "3"} {
		pass(value)
	}
	var got []string
	for _, revision := range stored.inOrder() {
		template, err := plan.RevisionTemplate(revision)
		if err != nil {
			t.Fatal(err)
		}
		_, value, _ := strings.Cut(string(template.Workload.Manifests[0].Raw), `"value":"`)
		got = append(got, value[:1])
	}
	if want := []string{"1", "4", "5", "3"}; !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q: the current, two more, and the present", got, want)
	}
}

// secretTemplate changes the template of the set to one Secret.
func (s *state) secretTemplate(value string) {
	s.template(value)
	s.set.Spec.ManifestWorkTemplate.Workload.Manifests[0].Raw = []byte(
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"shop","name":"web"},"stringData":{"value":"` + value + `"}}`)
}

// TestATemplateWithASecretIsKeptApart: a template with a Secret, or with what may be one, is kept in a FormerTemplate, as it is.
func TestATemplateWithASecretIsKeptApart(t *testing.T) {
	for sentence, test := range map[string]struct{ manifest, kind string }{
		"a Secret":           {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`, "FormerTemplate"},
		"a list":             {`{"apiVersion":"v1","kind":"List","items":[]}`, "FormerTemplate"},
		"a list of one kind": {`{"apiVersion":"v1","kind":"SecretList","items":[]}`, "FormerTemplate"},
		"any other kind":     {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"Secret"}}`, "ControllerRevision"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p")
			w.set.Spec.ManifestWorkTemplate.Workload.Manifests[0].Raw = []byte(test.manifest)
			todo, err := plan.Revisions(w.set, w.hash(t), nil)
			if err != nil || plan.RevisionKind(todo.Create) != test.kind {
				t.Fatalf("%+v, %v", todo, err)
			}
			template, err := plan.RevisionTemplate(todo.Create)
			if err != nil || string(template.Workload.Manifests[0].Raw) != test.manifest {
				t.Errorf("%+v, %v", template, err)
			}
			todo.Create.SetAnnotations(map[string]string{workv1.TemplateHashAnnotation: "other"})
			if _, err := plan.RevisionTemplate(todo.Create); err == nil {
				t.Error("a template with another hash is used")
			}
		})
	}
}

// TestTwoTemplatesWithSecretsAreKept: that of the last finished rollout and the present one, whatever the limit of the set is. They take no
// place of the others.
func TestTwoTemplatesWithSecretsAreKept(t *testing.T) {
	w, stored := newState(t, "p"), kept{}
	w.set.Spec.RevisionHistoryLimit = new(int32(1))
	for _, step := range []struct {
		template string
		finishes bool
		want     string
	}{
		{"plain 1", true, "C1"},
		{"secret 1", false, "C1 F2"},
		{"secret 2", false, "C1 F3"},
		{"secret 2", true, "C1 F3"},
		{"plain 2", false, "C1 F3 C4"},
		{"secret 3", false, "F3 C4 F5"},
		{"secret 2", false, "C4 F6"},
		{"plain 3", true, "C4 C7"},
	} {
		kind, value, _ := strings.Cut(step.template, " ")
		if w.template(value); kind == "secret" {
			w.secretTemplate(value)
		}
		hash := w.hash(t)
		if step.finishes {
			w.set.Status.CurrentRevision = hash
		}
		for range 2 {
			todo, err := plan.Revisions(w.set, hash, slices.Collect(maps.Values(stored)))
			if err != nil {
				t.Fatal(err)
			}
			stored.apply(todo)
		}
		var got []string
		for _, revision := range stored.inOrder() {
			got = append(got, plan.RevisionKind(revision)[:1]+strconv.FormatInt(plan.RevisionNumber(revision), 10))
		}
		if joined := strings.Join(got, " "); joined != step.want {
			t.Fatalf("with %s: kept %s, want %s", step.template, joined, step.want)
		}
	}
}

// TestATemplateThatNoObjectCanHoldIsNotKept: the API server would refuse the object, or etcd.
func TestATemplateThatNoObjectCanHoldIsNotKept(t *testing.T) {
	w, random := newState(t, "p"), make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	w.secretTemplate(base64.StdEncoding.EncodeToString(random))
	if todo, err := plan.Revisions(w.set, w.hash(t), nil); !errors.Is(err, plan.ErrTooLarge) {
		t.Errorf("%v, %v", todo.Create != nil, err)
	}
}

func TestAForgedTemplateIsNotUsed(t *testing.T) {
	w := newState(t, "p")
	todo, err := plan.Revisions(w.set, w.hash(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	good, ok := todo.Create.(*appsv1.ControllerRevision)
	if !ok {
		t.Fatalf("%T", todo.Create)
	}
	w.template("forged")
	todo, err = plan.Revisions(w.set, w.hash(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	forged, ok := todo.Create.(*appsv1.ControllerRevision)
	if !ok {
		t.Fatalf("%T", todo.Create)
	}
	good.Data = forged.Data
	if _, err := plan.RevisionTemplate(good); err == nil || !strings.Contains(err.Error(), "recorded hash") {
		t.Error(err)
	}
	good.OwnerReferences[0].UID = "other"
	if hash := plan.RevisionHash(w.set, good); hash != "" {
		t.Errorf("a revision of another owner has hash %s", hash)
	}
}

// TestARefusalOfTheFormerTemplateDoesNotStartThePresentOne: a cluster joins while the present template is held back, and the API server
// refuses the former one. The refusal is no failure of the present template, which stays held back.
func TestARefusalOfTheFormerTemplateDoesNotStartThePresentOne(t *testing.T) {
	w := newState(t, "p")
	w.selects("p", "a")
	w.pass(t)
	w.agents(t, "a", "Applied Available Progressing=False", w.now)
	w.pass(t)
	former := w.hash(t)
	w.kept[former] = true
	w.template("2")
	w.set.Spec.PlacementRefs[0].RolloutStrategy = parseStrategy(t, "{type: All, paused: true}")
	w.selects("p", "a d")
	w.written = nil
	retry := w.now.Add(time.Minute)
	w.faults["d"] = plan.Fault{Hash: former, Permanent: true, Message: "exceeded quota", Since: w.now, Retry: retry}
	out := w.pass(t)
	w.expectWrites(t)
	if got := out.Verdicts[1]; got.State != rollout.StateToApply || !strings.Contains(got.Message, "exceeded quota") ||
		!out.Until.Equal(retry) {
		t.Errorf("%+v, until %s", got, out.Until)
	}
	w.now = retry
	w.pass(t)
	w.expectWrites(t, "Create d")
	if got := w.work(t, "d").Annotations[workv1.TemplateHashAnnotation]; got != former {
		t.Errorf("the cluster got the template %s, want %s", got, former)
	}
}

// TestAReturnAtOncePassesWhatHolds: all clusters that started the newer template return in one pass, through a pace, a pause, a missing
// approval and a failure, and no other is touched. A template that has not finished before is not sent past its pace.
func TestAReturnAtOncePassesWhatHolds(t *testing.T) {
	for sentence, test := range map[string]struct {
		returns, unfinished bool
		want                []string
	}{
		"a return at once":                 {returns: true, want: []string{"Update a", "Update b", "Update c"}},
		"an undo at the pace":              {},
		"a template that has not finished": {returns: true, unfinished: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p")
			w.selects("p", "a b c|d")
			w.pass(t)
			w.pass(t)
			for _, name := range []string{"a", "b", "c", "d"} {
				w.agents(t, name, "Applied Available Progressing=False", w.now)
			}
			w.pass(t)
			w.kept[w.hash(t)] = true
			if w.set.Status.CurrentRevision != w.hash(t) {
				t.Fatalf("the first template has not finished: %+v", w.set.Status)
			}
			w.template("2")
			w.set.Spec.PlacementRefs[0].RolloutStrategy = parseStrategy(t, "{type: Progressive, progressive: {maxConcurrency: 3}}")
			w.pass(t)
			w.pass(t)
			w.agents(t, "a", "Applied Available Progressing=False Degraded", w.now)
			w.agents(t, "d", "Applied Available Progressing=False Degraded", w.now)
			w.pass(t)
			w.template("1")
			if test.unfinished {
				w.template("3")
			}
			w.set.Spec.PlacementRefs[0].RolloutStrategy = parseStrategy(t, "{type: Progressive, progressive: {maxConcurrency: 1}, approval: {}}")
			w.returns, w.paused, w.written = test.returns, true, nil
			w.pass(t)
			w.pass(t)
			w.expectWrites(t, test.want...)
		})
	}
}

// TestAReturnAtOnceEnds: once every cluster has the template, or the set another one, the decision lets nothing else pass.
func TestAReturnAtOnceEnds(t *testing.T) {
	for sentence, finishes := range map[string]bool{"once every cluster has it": true, "once the set has another template": false} {
		t.Run(sentence, func(t *testing.T) {
			w := finishedState(t, "a b c", "p={type: Progressive, progressive: {maxConcurrency: 1}}")
			second := func() { w.template("2"); w.pass(t); w.pass(t) }
			w.kept[w.hash(t)] = true
			first := w.template
			second()
			w.agents(t, "a", "Applied Available Progressing=False Degraded", w.now)
			w.pass(t)
			first("1")
			w.returns = true
			w.pass(t)
			w.pass(t)
			if finishes {
				for _, name := range []string{"a", "b", "c"} {
					w.agents(t, name, "Applied Available Progressing=False", w.now)
				}
				w.pass(t)
				w.pass(t)
			}
			decided := w.control(t).Spec.ReturnNow
			w.returns = false
			w.template("2")
			w.returned = decided
			w.pass(t)
			w.pass(t)
			if record := w.set.Status.Rollout; record.Returned == nil || !record.Returned.Time.Equal(decided.Time.Time) {
				t.Fatalf("the return has not ended: %+v", record)
			}
			w.agents(t, "a", "Applied Available Progressing=False", w.now)
			w.pass(t)
			w.pass(t)
			w.template("1")
			w.paused, w.written = true, nil
			w.pass(t)
			w.pass(t)
			w.expectWrites(t)
		})
	}
}

// TestATemplateIsMarkedOnceItsRolloutHasFinished: the mark stays when another template has finished.
func TestATemplateIsMarkedOnceItsRolloutHasFinished(t *testing.T) {
	w := newState(t)
	hash := w.hash(t)
	todo, err := plan.Revisions(w.set, hash, nil)
	if err != nil {
		t.Fatal(err)
	}
	revision := todo.Create
	if plan.RolloutFinished(w.set, revision) {
		t.Error("a template that is being rolled out has finished")
	}
	w.set.Status.CurrentRevision = hash
	if todo, err = plan.Revisions(w.set, hash, []plan.Revision{revision}); err != nil || todo.Finish != revision {
		t.Errorf("%+v, %v: want a mark", todo, err)
	}
	revision = plan.MarkedFinished(revision)
	w.set.Status.CurrentRevision = "another"
	if todo, err = plan.Revisions(w.set, hash, []plan.Revision{revision}); err != nil || todo.Finish != nil ||
		!plan.RolloutFinished(w.set, revision) {
		t.Errorf("%+v, %v: want no second mark", todo, err)
	}
}
