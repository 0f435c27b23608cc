package rollouts

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/delivery/compare"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

// SetDiff is what a change of a set touches, from what the hub has.
type SetDiff struct {
	Set string `json:"set"`
	// Versions are the clusters that get another template, those with the same former template together.
	Versions []VersionDiff `json:"versions"`
	// Removed are the clusters whose work goes, Unchanged counts those that have the template.
	Removed   []string `json:"removed,omitempty"`
	Unchanged int      `json:"unchanged"`
	// Failed are the clusters to which an override cannot be applied, each with the reason. They keep what they have.
	Failed []string `json:"failed,omitempty"`

	// plan is what the manager would do with the changed set at once.
	plan plan.Result
}

// VersionDiff is the clusters with one former template, and the objects that change there.
type VersionDiff struct {
	// From is the hash of the former template; empty for clusters without a work.
	From     string           `json:"from,omitempty"`
	Clusters []string         `json:"clusters"`
	Objects  []compare.Object `json:"objects"`
}

// Touched returns whether a cluster is touched.
func (d *SetDiff) Touched() bool { return len(d.Versions)+len(d.Removed) > 0 }

// Statuses returns how far the changed template has come on the clusters of a placement, and the clusters that the placement rules.
func (d *SetDiff) Statuses(placement string) (statuses []rollout.Status, ruled map[string]bool) {
	ruled = map[string]bool{}
	for _, v := range d.plan.Verdicts {
		if v.Placement != placement {
			continue
		}
		ruled[v.Cluster] = true
		if v.State != rollout.StateToApply {
			statuses = append(statuses, rollout.Status{Cluster: v.Cluster, State: v.State, Since: v.Since})
		}
	}
	return statuses, ruled
}

// change is from the hash of one spec to that of another.
type change struct{ from, to string }

// DiffSet compares a set as it is with a changed spec. Where the works are hidden, every cluster counts as having the stored template.
func DiffSet(stored Delivery, changed *workv1alpha1.ManifestWorkReplicaSet, now time.Time) (*SetDiff, error) {
	next := stored
	next.Set = stored.Set.DeepCopy()
	next.Set.Spec = changed.Spec
	in, err := next.input(now)
	if err != nil {
		return nil, err
	}
	rendered, err := next.rendering(in.Hash)
	if err != nil {
		return nil, err
	}
	out := &SetDiff{Set: changed.Namespace + "/" + changed.Name, Versions: []VersionDiff{}, plan: plan.Plan(in)}
	before, err := stored.input(now)
	if err != nil {
		return nil, err
	}
	former := map[change][]string{}
	specs := map[string]*workv1.ManifestWorkSpec{}
	for _, v := range out.plan.Verdicts {
		hash := stored.hashIn(v, before.Hash)
		spec, becomes := rendered.of(v.Cluster)
		switch {
		case v.Code == rollout.Left:
			out.Removed = append(out.Removed, v.Cluster)
		case v.Placement == "": // it stays for lack of a decision
		case becomes.Failure != "": // an override cannot be applied, so the cluster keeps what it has
			out.Failed = append(out.Failed, v.Cluster+": "+becomes.Failure)
		case hash == becomes.Hash:
			out.Unchanged++
		default:
			key := change{hash, becomes.Hash}
			former[key], specs[becomes.Hash] = append(former[key], v.Cluster), spec
		}
	}
	for key, clusters := range former {
		spec := stored.Specs[key.from]
		if stored.WorksHidden {
			spec = &stored.Set.Spec.ManifestWorkTemplate
		}
		objects, err := compare.Specs(spec, specs[key.to])
		if err != nil {
			return nil, fmt.Errorf("comparing the template of %s: %w", out.Set, err)
		}
		out.Versions = append(out.Versions, VersionDiff{From: key.from, Clusters: clusters, Objects: objects})
	}
	slices.SortStableFunc(out.Versions, func(a, b VersionDiff) int {
		return cmp.Or(-cmp.Compare(len(a.Clusters), len(b.Clusters)), strings.Compare(a.Clusters[0], b.Clusters[0]))
	})
	return out, nil
}

// hashIn returns the hash of the template that a cluster has; empty without a work.
func (d *Delivery) hashIn(v plan.Verdict, stored string) string {
	if d.WorksHidden {
		return stored
	}
	for _, work := range d.Works {
		if work.Namespace == v.Cluster && work.Name == v.Work {
			return work.Annotations[workv1.TemplateHashAnnotation]
		}
	}
	return ""
}

// WorkDiff is what a change of one work touches.
type WorkDiff struct {
	Work    string           `json:"work"`
	Created bool             `json:"created,omitempty"`
	Objects []compare.Object `json:"objects"`
}

// DiffWork compares a work as it is, nil for none, with a changed one.
func DiffWork(stored, changed *workv1.ManifestWork) (*WorkDiff, error) {
	out := &WorkDiff{Work: changed.Namespace + "/" + changed.Name, Created: stored == nil}
	var before *workv1.ManifestWorkSpec
	if stored != nil {
		before = &stored.Spec
	}
	var err error
	if out.Objects, err = compare.Specs(before, &changed.Spec); err != nil {
		return nil, fmt.Errorf("comparing the work %s: %w", out.Work, err)
	}
	return out, nil
}

// Print writes what a change of a set touches.
func (d *SetDiff) Print(w io.Writer, on printer.Screen) error {
	changed := 0
	for _, version := range d.Versions {
		changed += len(version.Clusters)
	}
	printer.Printf(w, "%s: %s, %d unchanged\n", d.Set, strings.Join([]string{
		phrase.Count(changed, "cluster") + " changed", phrase.Count(len(d.Removed), "cluster") + " removed",
	}, ", "), d.Unchanged)
	for _, version := range d.Versions {
		head := "  without a work: "
		if version.From != "" {
			head = "  from template " + version.From[:min(len(version.From), shortHash)] + ": "
		}
		printer.Printf(w, "%s%s\n", head, printer.FitNames(version.Clusters, on.LineWidth()-len(head)))
		if err := printObjects(w, on, version.Objects); err != nil {
			return err
		}
	}
	for i, failed := range d.Failed {
		if i == maxListed {
			printer.Printf(w, "  and %d more with overrides that cannot be applied\n", len(d.Failed)-maxListed)
			break
		}
		for _, line := range printer.Wrap("kept as it is: "+failed, on.LineWidth()-2) {
			printer.Printf(w, "  %s\n", line)
		}
	}
	if len(d.Removed) > 0 {
		const head = "  removed from: "
		printer.Printf(w, "%s%s\n", head, printer.FitNames(d.Removed, on.LineWidth()-len(head)))
	}
	return nil
}

// shortHash is how many digits of a hash are printed.
const shortHash = 8

// Print writes what a change of a work touches.
func (d *WorkDiff) Print(w io.Writer, on printer.Screen) error {
	what := phrase.Count(len(d.Objects), "object") + " touched"
	if d.Created {
		what = "a new work, " + what
	}
	printer.Printf(w, "%s: %s\n", d.Work, what)
	return printObjects(w, on, d.Objects)
}

func printObjects(w io.Writer, on printer.Screen, objects []compare.Object) error {
	if len(objects) == 0 {
		printer.Printf(w, "    no object changes\n")
		return nil
	}
	const fieldsColumn = 2
	table := printer.NewTable(w, "    ")
	table.Screen, table.Flexible = on, []int{1, fieldsColumn}
	styles := map[compare.Effect]printer.TextStyle{
		compare.Created: printer.StyleGood, compare.Changed: printer.StyleWarning,
		compare.Removed: printer.StyleBad,
	}
	for _, object := range objects {
		cells := []printer.Cell{printer.StyledCell(string(object.Effect), styles[object.Effect]), {Text: object.Object}}
		if len(object.Fields) > 0 {
			cells = append(cells, printer.Cell{Text: strings.Join(object.Fields, ", ")})
		}
		table.Add(cells)
	}
	return table.Flush() //nolint:wrapcheck // the error of the writer
}
