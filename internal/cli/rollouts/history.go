package rollouts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/delivery/plan"
)

var (
	errNoRevision = errors.New("there is no such revision: `kubectl berth rollout history` lists them")
	errNoFormer   = errors.New("there is no former template to return to")
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
		})
	}
	slices.SortFunc(out, func(a, b Revision) int { return -cmp.Compare(a.Number, b.Number) })
	return out, nil
}

// Undo returns the patch that writes a former template into a set, and its revision. Number 0 is the template of the last finished
// rollout, or the newest other than the present where that is the present. The patch is empty if the set has the template.
func Undo(set *workv1alpha1.ManifestWorkReplicaSet, history []Revision, number int64) ([]byte, Revision, error) {
	present, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return nil, Revision{}, fmt.Errorf("reading the template of the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	target, err := former(history, present, number)
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

// former finds a revision by its number, or the one to return to for 0.
func former(history []Revision, present string, number int64) (Revision, error) {
	if number != 0 {
		if at := slices.IndexFunc(history, func(r Revision) bool { return r.Number == number }); at >= 0 {
			return history[at], nil
		}
		return Revision{}, errNoRevision
	}
	for _, wanted := range []func(Revision) bool{
		func(r Revision) bool { return r.Current && r.Hash != present },
		func(r Revision) bool { return r.Hash != present },
	} {
		if at := slices.IndexFunc(history, wanted); at >= 0 {
			return history[at], nil
		}
	}
	return Revision{}, errNoFormer
}
