package rollouts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/phrase"
)

var (
	errNoRevision = errors.New("there is no such revision: `kubectl berth rollout history` lists them")
	errNotKept    = errors.New("the template of the last finished rollout is not among the kept ones: name another with --to-revision, or " +
		"write the former template into the set")
	errUnfinished = errors.New("--now returns to a template whose rollout has finished before: leave --now out to roll this one out " +
		"at the pace of the strategy")
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

	stored plan.Revision
}

// Past are the templates that a set had.
type Past struct {
	// Revisions are the kept ones, the newest first.
	Revisions []Revision
	// Hidden is why a template is missing that the set has or had last, and what to do; empty where every such template is listed.
	Hidden string
}

// hidden is why a template with a Secret is not listed.
const hidden = "templates with a Secret are not listed, since you may not list formertemplates in the namespace %s: " +
	"to return to one, write it into the set, or let an administrator of the hub run `kubectl berth rollout undo %s -n %[1]s`"

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

// History reads the templates that a set had.
func History(ctx context.Context, hub client.Reader, set *workv1alpha1.ManifestWorkReplicaSet) (Past, error) {
	kept, err := controllerRevisions(ctx, hub, set)
	if err != nil {
		return Past{}, err
	}
	secret, err := formerTemplates(ctx, hub, set)
	forbidden := apierrors.IsForbidden(err)
	if err != nil && !forbidden {
		return Past{}, err
	}
	out := Past{Revisions: revisionsOf(set, slices.Concat(kept, secret))}
	listed := func(hash string) bool {
		return hash == "" || slices.ContainsFunc(out.Revisions, func(r Revision) bool { return r.Hash == hash })
	}
	if forbidden && (!listed(set.Status.CurrentRevision) || !listed(set.Status.UpdateRevision)) {
		out.Hidden = fmt.Sprintf(hidden, set.Namespace, set.Name)
	}
	return out, nil
}

// revisionsOf returns the templates of a set that objects keep, the newest first.
func revisionsOf(set *workv1alpha1.ManifestWorkReplicaSet, kept []plan.Revision) []Revision {
	out := []Revision{}
	for _, stored := range kept {
		hash := plan.RevisionHash(set, stored)
		if hash == "" {
			continue // it is of another owner
		}
		out = append(out, Revision{
			Number: plan.RevisionNumber(stored), Hash: hash, Created: stored.GetCreationTimestamp(), stored: stored,
			Update: hash == set.Status.UpdateRevision, Current: hash == set.Status.CurrentRevision,
			Finished: plan.RolloutFinished(set, stored),
		})
	}
	slices.SortFunc(out, func(a, b Revision) int { return -cmp.Compare(a.Number, b.Number) })
	return out
}

// Undo returns the patch that writes a former template into a set, and its revision. Number 0 is the template of the last finished
// rollout, or the newest finished one other than the present where that is the present and its rollout has finished. The patch is empty if
// the set has the template.
func Undo(set *workv1alpha1.ManifestWorkReplicaSet, past Past, number int64) ([]byte, Revision, error) {
	target, present, err := former(set, past.Revisions, number)
	if err != nil && past.Hidden != "" {
		err = fmt.Errorf("%w; %s", err, past.Hidden)
	}
	if err != nil {
		return nil, Revision{}, fmt.Errorf("returning the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	switch {
	case target.Hash == present && plan.RollsOutOverrides(set, present):
		return nil, Revision{}, fmt.Errorf("returning the set %s/%s: %w", set.Namespace, set.Name, errOverrides(target.Number))
	case target.Hash == present:
		return nil, target, nil
	}
	template, err := plan.RevisionTemplate(target.stored)
	if err != nil {
		return nil, Revision{}, err //nolint:wrapcheck // it names the object
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
	case current != "" && current != present && isFinished(history, present):
		return Revision{}, present, errTwoWays(set, history, present)
	case current != "" && (current != present || returns(set, present)):
		return find(func(r Revision) bool { return r.Hash == current }, errNotKept)
	default:
		return find(func(r Revision) bool { return r.Finished && r.Hash != present }, noFormer(history, present))
	}
}

// errOverrides is the error where the set has a template already, and its rollout is of changed overrides.
func errOverrides(number int64) error {
	return fmt.Errorf("the set has the template of revision %d already, and rolls out other overrides for it, which no revision keeps: "+
		"apply its file with the former overrides, or name another template with --to-revision", number)
}

// isFinished reports whether a template has finished before.
func isFinished(history []Revision, hash string) bool {
	return slices.ContainsFunc(history, func(r Revision) bool { return r.Hash == hash && r.Finished })
}

// errTwoWays is the error where the set has a template again that has finished before: to return may mean to hurry it, or to leave it.
func errTwoWays(set *workv1alpha1.ManifestWorkReplicaSet, history []Revision, present string) error {
	numbers := map[string]string{}
	for _, one := range history {
		numbers[one.Hash] = strconv.FormatInt(one.Number, 10)
	}
	current := cmp.Or(numbers[set.Status.CurrentRevision], "unknown")
	return fmt.Errorf("the set returns to revision %s already, and left revision %s: `--now --to-revision %s` hurries the return, and "+
		"`--to-revision %s` calls it off", numbers[present], current, numbers[present], current)
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
		"`kubectl berth rollout history` shows them", phrase.Join(others, maxListed))
}
