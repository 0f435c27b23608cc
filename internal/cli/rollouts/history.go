package rollouts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/delivery/plan"
)

var (
	errNoRevision = errors.New("there is no such revision: `kubectl berth rollout history` lists them")
	errNotKept    = errors.New("the template of the last finished rollout is not kept: name another with --to-revision; `kubectl berth rollout history` lists them")
	errUnfinished = errors.New("--now returns to a template whose rollout has finished before: leave --now out to roll this one out at the pace of the strategy")
)

// Revision is a template that a set had.
type Revision struct {
	// Number grows with each change of the template. A template that returns gets the next number.
	Number int64  `json:"revision"`
	Hash   string `json:"hash"`
	// Created is when the set had the template for the first time.
	Created metav1.Time `json:"created"`
	// Update is set on the template that is rolled out, Current on that of the last finished rollout.
	Update  bool `json:"update,omitempty"`
	Current bool `json:"current,omitempty"`
	// Finished is set on a template that is known to have been rolled out to the end.
	Finished bool `json:"finished,omitempty"`

	stored *appsv1.ControllerRevision
}

// State returns `update`, `current`, both, or a dash.
func (r Revision) State() string {
	var out []string
	if r.Update {
		out = append(out, "update")
	}
	if r.Current {
		out = append(out, "current")
	}
	return printer.JoinOrDash(out)
}

// History reads the templates that a set had, the newest first.
func History(ctx context.Context, hub client.Reader, set *workv1alpha1.ManifestWorkReplicaSet) ([]Revision, error) {
	list := &appsv1.ControllerRevisionList{}
	if err := hub.List(ctx, list, client.InNamespace(set.Namespace), keptOf(set)); err != nil {
		return nil, fmt.Errorf("listing the ControllerRevisions of the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	out := []Revision{}
	for i := range list.Items {
		stored := &list.Items[i]
		hash := plan.RevisionHash(set, stored)
		if hash == "" {
			continue // it is of another owner
		}
		out = append(out, Revision{
			Number: stored.Revision, Hash: hash, Created: stored.CreationTimestamp, stored: stored,
			Update: hash == set.Status.UpdateRevision, Current: hash == set.Status.CurrentRevision,
			Finished: plan.RolloutFinished(set, stored),
		})
	}
	slices.SortFunc(out, func(a, b Revision) int { return -cmp.Compare(a.Number, b.Number) })
	return out, nil
}

// Undo returns the patch that writes a former template into a set, and its revision. Number 0 is the template of the last finished
// rollout, or the newest finished one other than the present where that is the present and its rollout has finished. The patch is empty if
// the set has the template.
func Undo(set *workv1alpha1.ManifestWorkReplicaSet, history []Revision, number int64) ([]byte, Revision, error) {
	target, present, err := former(set, history, number)
	if err != nil {
		return nil, Revision{}, fmt.Errorf("returning the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	if target.Hash == present {
		return nil, target, nil
	}
	template, err := plan.RevisionTemplate(target.stored)
	if err != nil {
		return nil, Revision{}, err
	}
	patch, err := encode(set, []operation{{"add", "/spec/manifestWorkTemplate", template}})
	return patch, target, err
}

// former finds a revision by its number, or the one to return to for 0. Present is the hash of the template that the set has.
func former(set *workv1alpha1.ManifestWorkReplicaSet, history []Revision, number int64) (found Revision, present string, err error) {
	if present, err = plan.TemplateHash(&set.Spec.ManifestWorkTemplate); err != nil {
		return Revision{}, "", fmt.Errorf("reading the template: %w", err)
	}
	find := func(wanted func(Revision) bool, otherwise error) (Revision, string, error) {
		if at := slices.IndexFunc(history, wanted); at >= 0 {
			return history[at], present, nil
		}
		return Revision{}, present, otherwise
	}
	switch current := set.Status.CurrentRevision; {
	case number != 0:
		return find(func(r Revision) bool { return r.Number == number }, errNoRevision)
	case current != "" && (current != present || returns(set, present)):
		return find(func(r Revision) bool { return r.Hash == current }, errNotKept)
	default:
		return find(func(r Revision) bool { return r.Finished && r.Hash != present }, noFormer(history, present))
	}
}

// returns reports whether the rollout of the present template, which is that of the last finished rollout, has not finished again.
func returns(set *workv1alpha1.ManifestWorkReplicaSet, present string) bool {
	record := set.Status.Rollout
	return record != nil && (record.FinishedTime == nil || !strings.HasPrefix(record.Revision, present))
}

// noFormer is the error where no other template is known to have finished.
func noFormer(history []Revision, present string) error {
	var others []string
	for _, one := range history {
		if one.Hash != present {
			others = append(others, strconv.FormatInt(one.Number, 10))
		}
	}
	if len(others) == 0 {
		return errors.New("there is no former template to return to")
	}
	return fmt.Errorf("no other template is known to have been rolled out to the end: name one with --to-revision, of %s; "+
		"`kubectl berth rollout history` shows them", printer.JoinNames(others, maxListed))
}
