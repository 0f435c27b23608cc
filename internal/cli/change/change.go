package change

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/kube/suggest"
	"github.com/berth-project/berth/internal/source/file"
)

const (
	// cordonKey and drainKey are the taints that --cordon and --drain try out.
	cordonKey, drainKey = "cordoned", "drained"
	// featureLabels begins the labels that add-ons maintain.
	featureLabels = "feature.open-cluster-management.io/"
)

// ObjectReference names an object that a change deletes.
type ObjectReference struct{ kind, namespace, name string }

func (o ObjectReference) String() string {
	if o.namespace == "" {
		return o.kind + "/" + o.name
	}
	return o.kind + "/" + o.namespace + "/" + o.name
}

// Proposal is the change that diff examines.
type Proposal struct {
	Applied                    *file.Bundle
	Deleted                    []ObjectReference
	Cordoned, Drained, Removed []string
	Namespace                  string
}

// Empty reports whether there is no change.
func (p *Proposal) Empty() bool {
	return len(ObjectsOf(p.Applied))+len(p.Deleted)+len(p.Cordoned)+len(p.Drained)+len(p.Removed) == 0
}

// Deletable are the kinds of objects that a change deletes.
func Deletable() []reader.Kind {
	return []reader.Kind{reader.ClusterKind(), reader.SetKind(), reader.BindingKind(), reader.PlacementKind(), reader.ScoreKind()}
}

// ParseReference reads KIND/NAME or KIND/NAMESPACE/NAME, the kind by any of its names. Named is false for the name of a file.
func ParseReference(text, namespace string) (out ObjectReference, named bool, err error) {
	if _, err := os.Stat(text); err == nil || text == "-" {
		return ObjectReference{}, false, nil
	}
	parts := strings.Split(text, "/")
	at := slices.IndexFunc(Deletable(), func(k reader.Kind) bool { return k.Is(parts[0]) })
	if at < 0 {
		var all []string
		for _, k := range Deletable() {
			all = append(all, k.Names...)
		}
		return ObjectReference{}, false, fmt.Errorf("--delete %s: there is no such file; or name an object: cluster/NAME, set/NAME, binding/NAMESPACE/NAME, "+
			"placement/NAMESPACE/NAME or score/CLUSTER/NAME%s", text, suggest.DidYouMean(reader.BareKind(parts[0]), all))
	}
	k := Deletable()[at]
	const scoped = 3
	switch {
	case slices.Contains(parts, ""):
	case len(parts) == 2 && !k.Namespaced:
		return ObjectReference{kind: k.Singular(), name: parts[1]}, true, nil
	case len(parts) == 2 && k.Kind != reader.ScoreKind().Kind:
		return ObjectReference{k.Singular(), cmp.Or(namespace, "default"), parts[1]}, true, nil
	case len(parts) == scoped && k.Namespaced:
		return ObjectReference{k.Singular(), parts[1], parts[2]}, true, nil
	}
	want := parts[0] + "/NAME"
	if k.Namespaced {
		want += " or " + parts[0] + "/NAMESPACE/NAME"
	}
	return ObjectReference{}, false, fmt.Errorf("--delete %s: want %s", text, want)
}

// ObjectsOf names every object of a bundle.
func ObjectsOf(in *file.Bundle) []ObjectReference {
	var out []ObjectReference
	for _, o := range in.Clusters {
		out = append(out, ObjectReference{kind: "cluster", name: o.Name})
	}
	for _, o := range in.Sets {
		out = append(out, ObjectReference{kind: "set", name: o.Name})
	}
	for _, o := range in.Bindings {
		out = append(out, ObjectReference{"binding", o.Namespace, o.Name})
	}
	for _, o := range in.Placements {
		out = append(out, ObjectReference{"placement", o.Namespace, o.Name})
	}
	for _, o := range in.Scores {
		out = append(out, ObjectReference{"score", o.Namespace, o.Name})
	}
	return out
}

// changeApplier applies a proposal to a simulation and collects the placements that it can affect.
type changeApplier struct {
	*Simulation

	touched map[fleet.Key]bool
}

// ApplyChange applies a proposal and returns the placements that it can affect, in order.
func (c *Simulation) ApplyChange(change *Proposal) ([]fleet.Key, error) {
	m := &changeApplier{Simulation: c, touched: map[fleet.Key]bool{}}
	for _, deleted := range change.Deleted {
		if err := m.delete(deleted); err != nil {
			return nil, err
		}
	}
	m.apply(change.Applied)
	for _, step := range []func(*Proposal) error{m.cordon, m.drain, m.remove} {
		if err := step(change); err != nil {
			return nil, err
		}
	}
	c.reorder()
	return slices.SortedFunc(maps.Keys(m.touched), fleet.Key.Compare), nil
}

func (m *changeApplier) edit(change func(*fleet.Edit)) {
	edit := m.snapshot.Edit()
	change(edit)
	m.snapshot = edit.Snapshot()
}

func (m *changeApplier) touch(keys []fleet.Key) {
	for _, key := range keys {
		m.touched[key] = true
	}
}

// reindex marks placements as touched and updates their entries in the index.
func (m *changeApplier) reindex(keys []fleet.Key) {
	m.touch(keys)
	for _, key := range keys {
		if seat := m.placements[key]; seat != nil {
			m.index.Put(m.snapshot, key, seat.program)
		}
	}
}

// apply makes what is applied. Sets and bindings come first, so that clusters find their way into them.
func (m *changeApplier) apply(in *file.Bundle) {
	for _, set := range in.Sets {
		m.edit(func(e *fleet.Edit) { e.SetSet(fleet.NewSet(set)) })
		m.reindex(m.index.BySet(set.Name))
	}
	for _, binding := range in.Bindings {
		m.edit(func(e *fleet.Edit) { e.Bind(binding.Namespace, binding.Name) })
		m.reindex(m.index.ByNamespace(binding.Namespace))
	}
	for _, cluster := range in.Clusters {
		m.cluster(m.mergeCluster(cluster))
	}
	for _, score := range in.Scores {
		m.score(score.Namespace, score.Name, func(e *fleet.Edit) { e.SetScore(score.Namespace, fleet.NewScore(score)) })
	}
	for _, placement := range in.Placements {
		m.placement(placement, in.Programs[file.KeyOf(placement)])
	}
}

// mergeCluster returns a cluster as it is once a manifest of it is applied.
func (m *changeApplier) mergeCluster(manifest *clusterv1.ManagedCluster) *clusterv1.ManagedCluster {
	id, _ := m.snapshot.ID(manifest.Name)
	before := m.snapshot.Cluster(id)
	if before == nil || before.Name() != manifest.Name {
		return manifest
	}
	out := manifest.DeepCopy()
	if equality.Semantic.DeepEqual(out.Status, clusterv1.ManagedClusterStatus{}) {
		out.Status = before.Object.Status
	}
	if len(out.Spec.Taints) == 0 {
		out.Spec.Taints = before.Object.Spec.Taints
	}
	for key, value := range before.Object.Labels {
		if _, given := out.Labels[key]; !given && strings.HasPrefix(key, featureLabels) {
			metav1.SetMetaDataLabel(&out.ObjectMeta, key, value)
		}
	}
	return out
}

func (m *changeApplier) cluster(object *clusterv1.ManagedCluster) {
	after := fleet.NewCluster(object)
	var before *fleet.Cluster
	m.edit(func(e *fleet.Edit) { before = e.SetCluster(after) })
	m.touch(m.index.ClusterChanged(m.snapshot, before, after))
}

// score changes a score of a cluster.
func (m *changeApplier) score(cluster, resource string, change func(*fleet.Edit)) {
	m.edit(change)
	if id, known := m.snapshot.ID(cluster); known && m.snapshot.Cluster(id) != nil {
		m.touch(m.index.ScoreChanged(m.snapshot.Cluster(id), resource))
	}
}

// placement adds a placement, or replaces its spec.
func (m *changeApplier) placement(manifest *clusterv1beta1.Placement, compiled *program.Program) {
	key := file.KeyOf(manifest)
	next := &storedPlacement{placement: manifest, program: compiled}
	if before := m.placements[key]; before != nil {
		next.slices, next.placement = before.slices, offline.MergePlacement(before.placement, manifest)
	}
	m.placements[key] = next
	m.reindex([]fleet.Key{key})
}

// find returns a cluster that a flag names.
func (m *changeApplier) find(flag, name string) (*fleet.Cluster, error) {
	if id, known := m.snapshot.ID(name); known && m.snapshot.Cluster(id) != nil {
		return m.snapshot.Cluster(id), nil
	}
	return nil, fmt.Errorf("%s %s: there is no such cluster", flag, name)
}

func (m *changeApplier) cordon(in *Proposal) error {
	for _, name := range in.Cordoned {
		found, err := m.find("--cordon", name)
		if err != nil {
			return err
		}
		m.taint(found, cordonKey, clusterv1.TaintEffectNoSelectIfNew)
	}
	return nil
}

func (m *changeApplier) drain(in *Proposal) error {
	for _, text := range in.Drained {
		selector, err := labels.Parse(text)
		if err != nil {
			return fmt.Errorf("--drain %q is no label selector: %w", text, err)
		}
		var matching []*fleet.Cluster
		for _, cluster := range m.snapshot.Clusters() {
			if selector.Matches(labels.Set(cluster.Object.Labels)) {
				matching = append(matching, cluster)
			}
		}
		if len(matching) == 0 {
			return fmt.Errorf("--drain %s: no cluster matches", text)
		}
		for _, cluster := range matching {
			m.taint(cluster, drainKey, clusterv1.TaintEffectNoSelect)
		}
	}
	return nil
}

func (m *changeApplier) taint(cluster *fleet.Cluster, key string, effect clusterv1.TaintEffect) {
	tainted := cluster.Object.DeepCopy()
	tainted.Spec.Taints = append(tainted.Spec.Taints, clusterv1.Taint{Key: key, Effect: effect, TimeAdded: metav1.NewTime(m.snapshot.Now)})
	m.cluster(tainted)
}

func (m *changeApplier) remove(in *Proposal) error {
	for _, name := range in.Removed {
		if err := m.delete(ObjectReference{kind: "cluster", name: name}); err != nil {
			return fmt.Errorf("--remove %s: there is no such cluster", name)
		}
	}
	return nil
}

// delete deletes an object that is there.
func (m *changeApplier) delete(o ObjectReference) error {
	key := fleet.Key{Namespace: o.namespace, Name: o.name}
	missing := fmt.Errorf("--delete %s: there is no such object", o)
	switch o.kind {
	case "cluster":
		var before *fleet.Cluster
		m.edit(func(e *fleet.Edit) { before = e.DeleteCluster(o.name) })
		if before == nil {
			return missing
		}
		m.touch(m.index.ClusterChanged(m.snapshot, before, nil))
	case "set":
		if _, there := m.snapshot.Set(o.name); !there {
			return missing
		}
		m.edit(func(e *fleet.Edit) { e.DeleteSet(o.name) })
		m.reindex(m.index.BySet(o.name))
	case "binding":
		if !slices.Contains(m.snapshot.BoundSets(o.namespace), o.name) {
			return missing
		}
		m.edit(func(e *fleet.Edit) { e.Unbind(o.namespace, o.name) })
		m.reindex(m.index.ByNamespace(o.namespace))
	case "placement":
		if m.placements[key] == nil {
			return missing
		}
		delete(m.placements, key)
		m.index.Remove(key)
		m.edit(func(e *fleet.Edit) { e.SetSlices(key, nil) })
	default:
		return m.deleteScore(o, missing)
	}
	return nil
}

func (m *changeApplier) deleteScore(o ObjectReference, missing error) error {
	id, known := m.snapshot.ID(o.namespace)
	if !known || m.snapshot.Score(id, o.name) == nil {
		return missing
	}
	m.score(o.namespace, o.name, func(e *fleet.Edit) { e.DeleteScore(o.namespace, o.name) })
	return nil
}
