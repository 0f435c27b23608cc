package plan_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/rollout"
)

// unkeptReason returns the reason of the condition FormerTemplateUnkept; empty without it.
func (s *state) unkeptReason() string {
	if condition := meta.FindStatusCondition(s.set.Status.Conditions, workv1alpha1.FormerTemplateUnkept); condition != nil {
		return condition.Reason
	}
	return ""
}

// finishTemplate lets the present template of the set finish on the clusters a and b.
func (s *state) finishTemplate(t *testing.T) {
	t.Helper()
	s.selects("p", "a b")
	s.pass(t)
	s.agents(t, "a b", "Applied Available Progressing=False", s.now)
	s.pass(t)
	if s.set.Status.CurrentRevision != s.hash(t) {
		t.Fatal("the rollout has not finished")
	}
}

const causeUnkept = "forbidden; apply the roles in config/delivery"

// TestATemplateStartsOnlyIfClustersCanReturn: a template does not start if the one before could not be stored while it was the present
// one. What runs stays, and a cluster that joins runs nothing. A set whose former template is lost without that record goes on.
func TestATemplateStartsOnlyIfClustersCanReturn(t *testing.T) {
	for sentence, test := range map[string]struct {
		// before changes the hub before the next template.
		before func(t *testing.T, w *state)
		// reason is that of the condition with the first template, next with the second.
		reason, next, writes string
	}{
		"it is kept": {
			func(t *testing.T, w *state) { w.finishTemplate(t); w.kept[w.hash(t)] = true },
			"", "", "Update a, Update b, Create c",
		},
		"it was never stored": {
			func(t *testing.T, w *state) { w.unkept = causeUnkept; w.finishTemplate(t) },
			plan.ReasonFormerUnkept, plan.ReasonFormerUnkept, "",
		},
		"it was never stored, and no permission is missing any more": {
			func(t *testing.T, w *state) { w.unkept = causeUnkept; w.finishTemplate(t); w.unkept = "" },
			plan.ReasonFormerUnkept, plan.ReasonFormerUnkept, "",
		},
		"it was stored late": {
			func(t *testing.T, w *state) {
				w.unkept = causeUnkept
				w.finishTemplate(t)
				w.unkept, w.kept[w.hash(t)] = "", true
				w.pass(t)
			},
			"", "", "Update a, Update b, Create c",
		},
		"it was lost before this version": {
			func(t *testing.T, w *state) { w.finishTemplate(t) },
			"", "", "Update a, Update b, Create c",
		},
		"only the next one cannot be stored": {
			func(t *testing.T, w *state) { w.finishTemplate(t); w.kept[w.hash(t)] = true; w.unkept = causeUnkept },
			"", plan.ReasonPresentUnkept, "Update a, Update b, Create c",
		},
		"it was lost before this version, and the next one cannot be stored": {
			func(t *testing.T, w *state) { w.finishTemplate(t); w.unkept = causeUnkept },
			"", plan.ReasonPresentUnkept, "Update a, Update b, Create c",
		},
		"a person lets it start": {
			func(t *testing.T, w *state) {
				w.unkept = causeUnkept
				w.finishTemplate(t)
				w.template("2")
				w.withoutFormer = w.hash(t)
				w.template("1")
			},
			plan.ReasonFormerUnkept, plan.ReasonStartsWithoutFormer, "Update a, Update b, Create c",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p={type: All}")
			test.before(t, w)
			if got := w.unkeptReason(); got != test.reason {
				t.Fatalf("with the former template the reason is %q, want %q", got, test.reason)
			}
			w.template("2")
			w.selects("p", "a b c")
			w.written = nil
			out := w.pass(t)
			w.pass(t)
			if got := w.unkeptReason(); got != test.next {
				t.Errorf("with the next template the reason is %q, want %q", got, test.next)
			}
			var want []string
			if test.writes != "" {
				want = strings.Split(test.writes, ", ")
			}
			w.expectWrites(t, want...)
			held := len(want) == 0
			if plan.HeldForFormer(w.set) != held || (out.Rollouts[0].Phase == rollout.PhaseUnapproved) != held {
				t.Errorf("held %v in the phase %s, want %v", plan.HeldForFormer(w.set), out.Rollouts[0].Phase, held)
			}
		})
	}
}

// TestAHeldTemplateStartsOnce: a set whose former template is lost is held for the next template too. It goes on when the former template
// was written into it again and is kept, or where a person decides so, for that template alone.
func TestAHeldTemplateStartsOnce(t *testing.T) {
	for sentence, test := range map[string]struct {
		release func(t *testing.T, w *state)
	}{
		"the former template returns": {func(t *testing.T, w *state) {
			w.template("1")
			w.pass(t)
			w.kept[w.hash(t)], w.unkept = true, ""
			w.pass(t)
			w.template("3")
		}},
		"a person decides": {func(t *testing.T, w *state) { w.withoutFormer = w.hash(t) }},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p={type: All}")
			w.unkept = causeUnkept
			w.finishTemplate(t)
			w.written = nil
			w.template("2")
			w.pass(t)
			w.withoutFormer = w.hash(t)
			w.template("3")
			w.pass(t)
			w.pass(t)
			w.expectWrites(t)
			test.release(t, w)
			w.pass(t)
			w.expectWrites(t, "Update a", "Update b")
			w.unkept = ""
			w.agents(t, "a b", "Applied Available Progressing=False", w.now)
			w.pass(t)
			if got := w.unkeptReason(); got != "" || w.set.Status.CurrentRevision != w.hash(t) {
				t.Errorf("after the end the reason is %q", got)
			}
		})
	}
}

// TestAStartWithoutAFormerTemplateIsOfOneRollout: a decision about an earlier rollout of the same template lets nothing start.
func TestAStartWithoutAFormerTemplateIsOfOneRollout(t *testing.T) {
	w := newState(t, "p={type: All}")
	w.unkept = causeUnkept
	w.finishTemplate(t)
	w.template("2")
	w.pass(t)
	this := w.set.Status.Rollout.StartedTime
	earlier := metav1.NewMicroTime(this.Add(-time.Hour))
	for sentence, test := range map[string]struct {
		started *metav1.MicroTime
		begins  bool
	}{"of this rollout": {&this, true}, "of an earlier one": {&earlier, false}, "of every rollout": {nil, true}} {
		in := w.input(t)
		in.Control = &rolloutv1alpha1.RolloutControl{Spec: rolloutv1alpha1.RolloutControlSpec{
			WithoutFormer: &rolloutv1alpha1.TemplateDecision{Revision: w.hash(t), StartedTime: test.started},
		}}
		if out := plan.Plan(in); out.Begins != test.begins {
			t.Errorf("with a decision %s it begins %v, want %v", sentence, out.Begins, test.begins)
		}
	}
}

// TestTheConditionNamesWhatToDo: the cause while the template is the present one, then the ways forward.
func TestTheConditionNamesWhatToDo(t *testing.T) {
	w := newState(t, "p={type: All}")
	w.unkept = causeUnkept
	w.finishTemplate(t)
	expect := func(part string) {
		t.Helper()
		condition := meta.FindStatusCondition(w.set.Status.Conditions, workv1alpha1.FormerTemplateUnkept)
		if condition == nil || condition.Status != metav1.ConditionTrue || !strings.Contains(condition.Message, part) {
			t.Errorf("%+v does not contain %q", condition, part)
		}
	}
	expect(causeUnkept)
	w.template("2")
	w.pass(t)
	expect("kubectl berth rollout approve web -n shop --without-former")
	condition := meta.FindStatusCondition(w.set.Status.Conditions, workv1alpha1.Progressing)
	if condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "is not kept") {
		t.Errorf("%+v", condition)
	}
}
