package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/scenario"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

// applyStep applies the changes of a step, and decides every placement if there are any.
func (r *Runner) applyStep(ctx context.Context, t *offline.Timeline, s *scenario.Scenario, at int) error {
	step, path := &s.Steps[at], fmt.Sprintf("steps[%d].", at)
	next := *t.Bundle
	next.Programs, next.Decisions = maps.Clone(next.Programs), maps.Clone(next.Decisions)
	changed := len(step.Apply)+len(step.Delete) > 0
	if err := r.apply(ctx, &next, s, path+"apply", step.Apply); err != nil {
		return err
	}
	for i, reference := range step.Delete {
		if err := remove(&next, reference, s.Namespace); err != nil {
			return file.FaultsError{s.Fault(fmt.Sprintf("%sdelete[%d]", path, i), err.Error())}
		}
	}
	for change := range step.Changes() {
		changed = true
		if err := r.editClusters(ctx, &next, s, path, change, metav1.NewTime(t.Now)); err != nil {
			return err
		}
	}
	if changed {
		t.Replace(&next)
		t.Decide(offline.AllPlacements)
	}
	return nil
}

// apply creates or replaces objects.
func (r *Runner) apply(ctx context.Context, to *file.Bundle, s *scenario.Scenario, path string, objects []map[string]any) error {
	if len(objects) == 0 {
		return nil
	}
	loader := file.Loader{Rules: r.Rules, Validation: r.Validation, Namespace: s.Namespace, Parsed: s.Inputs(path, objects)}
	made, err := loader.Load(ctx, nil)
	if err != nil {
		return err
	}
	if len(made.Decisions) > 0 {
		return file.FaultsError{s.Fault(path, "a PlacementDecision is for the placement to write; those from before belong into the base")}
	}
	reader.PrintWarnings(r.Warnings, made)
	to.Clusters = replaceByName(to.Clusters, made.Clusters, offline.MergeCluster)
	to.Sets = replaceByName(to.Sets, made.Sets, nil)
	to.Bindings = replaceByName(to.Bindings, made.Bindings, nil)
	to.Scores = replaceByName(to.Scores, made.Scores, nil)
	to.Placements = replaceByName(to.Placements, made.Placements, offline.MergePlacement)
	slices.SortFunc(to.Placements, func(a, b *clusterv1beta1.Placement) int { return file.KeyOf(a).Compare(file.KeyOf(b)) })
	maps.Copy(to.Programs, made.Programs)
	return nil
}

// replaceByName returns a list in which objects replace those of the same name. merge combines the old and the new object;
// nil stores the new one.
func replaceByName[T metav1.Object](list, made []T, merge func(before, given T) T) []T {
	out := slices.Clone(list)
	at := make(map[string]int, len(out))
	for i, object := range out {
		at[object.GetNamespace()+"/"+object.GetName()] = i
	}
	for _, object := range made {
		i, known := at[object.GetNamespace()+"/"+object.GetName()]
		switch {
		case !known:
			out = append(out, object)
		case merge == nil:
			out[i] = object
		default:
			out[i] = merge(out[i], object)
		}
	}
	return out
}

var errNotThere = errors.New("there is no such object")

// remove takes an object away; with a placement, its decisions.
func remove(from *file.Bundle, what scenario.Reference, namespace string) error {
	key := keyIn(what.Name, what.Namespace)
	if what.Namespace == "" {
		key = keyIn(what.Name, namespace)
	}
	found := false
	switch what.Kind {
	case "ManagedCluster":
		from.Clusters, found = removeMatching(from.Clusters, func(o *clusterv1.ManagedCluster) bool { return o.Name == what.Name })
	case "ManagedClusterSet":
		from.Sets, found = removeMatching(from.Sets, func(o *clusterv1beta2.ManagedClusterSet) bool { return o.Name == what.Name })
	case "ManagedClusterSetBinding":
		from.Bindings, found = removeMatching(from.Bindings, func(o *clusterv1beta2.ManagedClusterSetBinding) bool {
			return o.Namespace == key.Namespace && o.Name == key.Name
		})
	case "AddOnPlacementScore":
		from.Scores, found = removeMatching(from.Scores, func(o *clusterv1alpha1.AddOnPlacementScore) bool {
			return o.Namespace == key.Namespace && o.Name == key.Name
		})
	case "Placement":
		from.Placements, found = removeMatching(from.Placements, func(o *clusterv1beta1.Placement) bool { return file.KeyOf(o) == key })
		delete(from.Decisions, key)
		delete(from.Programs, key)
	}
	if !found {
		return fmt.Errorf("%s %s: %w", what.Kind, what.Name, errNotThere)
	}
	return nil
}

// removeMatching returns a list without an object, and whether it was there.
func removeMatching[T any](list []T, is func(T) bool) (rest []T, found bool) {
	rest = slices.DeleteFunc(slices.Clone(list), is)
	return rest, len(rest) < len(list)
}

// editClusters does a short form to the clusters that it chooses, and admits them again.
func (r *Runner) editClusters(
	ctx context.Context, to *file.Bundle, s *scenario.Scenario, path string, change scenario.Change, now metav1.Time,
) error {
	path += change.Path
	var given []file.ParsedObject
	missing := slices.Clone(change.Clusters)
	for _, cluster := range to.Clusters {
		if !change.MatchesLabels(cluster) && !slices.Contains(change.Clusters, cluster.Name) {
			continue
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == cluster.Name })
		next := cluster.DeepCopy()
		change.Edit(next, now)
		next.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("ManagedCluster"))
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(next)
		if err != nil {
			return fmt.Errorf("encoding the cluster %s: %w", next.Name, err)
		}
		given = append(given, file.ParsedObject{Position: s.Place(path), Content: content})
	}
	switch {
	case len(missing) > 0:
		return file.FaultsError{s.Fault(path+".clusters", "there is no cluster "+phrase.Join(missing, reader.MaxNamed))}
	case len(given) == 0:
		return file.FaultsError{s.Fault(path+".where", "no cluster has these labels")}
	}
	made, err := file.Loader{Rules: r.Rules, Parsed: given}.Load(ctx, nil)
	if err != nil {
		return err
	}
	to.Clusters = replaceByName(to.Clusters, made.Clusters, nil)
	return nil
}
