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
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/suggest"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/cli/reader"
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
		return ObjectReference{}, false, fmt.Errorf("--delete %s: there is no such file; or name an object: cluster/NAME, set/NAME, "+
			"binding/NAMESPACE/NAME, placement/NAMESPACE/NAME or score/CLUSTER/NAME%s", text, suggest.DidYouMean(reader.BareKind(parts[0]), all))
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
func (s *Simulation) ApplyChange(change *Proposal) ([]fleet.Key, error) {
	m := &changeApplier{Simulation: s, touched: map[fleet.Key]bool{}}
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
	s.reorder()
	return slices.SortedFunc(maps.Keys(m.touched), fleet.Key.Compare), nil
}

func (c *changeApplier) edit(change func(*fleet.Edit)) {
	edit := c.snapshot.Edit()
	change(edit)
	c.snapshot = edit.Snapshot()
}

func (c *changeApplier) touch(keys []fleet.Key) {
	for _, key := range keys {
		c.touched[key] = true
	}
}

// reindex marks placements as touched and updates their entries in the index.
func (c *changeApplier) reindex(keys []fleet.Key) {
	c.touch(keys)
	for _, key := range keys {
		if seat := c.placements[key]; seat != nil {
			c.index.Put(c.snapshot, key, seat.program)
		}
	}
}

// apply makes what is applied. Sets and bindings come first, so that clusters find their way into them.
func (c *changeApplier) apply(in *file.Bundle) {
	before := c.snapshot
	for _, set := range in.Sets {
		c.set(fleet.SetOfSpec(set))
	}
	for _, binding := range in.Bindings {
		c.edit(func(e *fleet.Edit) { e.Bind(binding.Namespace, binding.Name) })
		c.reindex(c.index.ByNamespace(binding.Namespace))
	}
	for _, cluster := range in.Clusters {
		c.cluster(c.mergeCluster(cluster))
	}
	c.holdSelectors(before, in.Sets)
	for _, score := range in.Scores {
		c.score(score.Namespace, score.Name, func(e *fleet.Edit) { e.SetScore(score.Namespace, fleet.NewScore(score)) })
	}
	for _, placement := range in.Placements {
		c.placement(placement, in.Programs[file.KeyOf(placement)])
	}
}

func (c *changeApplier) set(set *fleet.Set) {
	c.edit(func(e *fleet.Edit) { e.SetSet(set) })
	c.reindex(c.index.BySet(set.Name))
}

// holdSelectors keeps the members of each set whose new selector would take every one away, as the controller of sets does: until a cluster
// matches.
func (c *changeApplier) holdSelectors(before *fleet.Snapshot, edited []*clusterv1beta2.ManagedClusterSet) {
	for _, set := range edited {
		delete(c.wanted, set.Name)
		was, existed := before.Set(set.Name)
		is, _ := c.snapshot.Set(set.Name)
		if existed && is.Valid() && !clusterv1beta2.SelectorConfirmed(set) && is.Count(c.snapshot) == 0 && was.Count(c.snapshot) > 0 {
			c.wanted[set.Name] = is
			c.set(was)
		}
	}
	for name, wanted := range c.wanted {
		if wanted.Count(c.snapshot) > 0 {
			delete(c.wanted, name)
			c.set(wanted)
		}
	}
}

// mergeCluster returns a cluster as it is once a manifest of it is applied.
func (c *changeApplier) mergeCluster(manifest *clusterv1.ManagedCluster) *clusterv1.ManagedCluster {
	id, _ := c.snapshot.ID(manifest.Name)
	before := c.snapshot.Cluster(id)
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

func (c *changeApplier) cluster(object *clusterv1.ManagedCluster) {
	after := fleet.NewCluster(object)
	var before *fleet.Cluster
	c.edit(func(e *fleet.Edit) { before = e.SetCluster(after) })
	c.touch(c.index.ClusterChanged(c.snapshot, before, after))
}

// score changes a score of a cluster.
func (c *changeApplier) score(cluster, resource string, change func(*fleet.Edit)) {
	c.edit(change)
	if id, known := c.snapshot.ID(cluster); known && c.snapshot.Cluster(id) != nil {
		c.touch(c.index.ScoreChanged(c.snapshot.Cluster(id), resource))
	}
}

// placement adds a placement, or replaces its spec.
func (c *changeApplier) placement(manifest *clusterv1beta1.Placement, compiled *program.Program) {
	key := file.KeyOf(manifest)
	next := &storedPlacement{placement: manifest, program: compiled}
	if before := c.placements[key]; before != nil {
		next.slices, next.placement = before.slices, offline.MergePlacement(before.placement, manifest)
	}
	c.placements[key] = next
	c.reindex([]fleet.Key{key})
}

// find returns a cluster that a flag names.
func (c *changeApplier) find(flag, name string) (*fleet.Cluster, error) {
	if id, known := c.snapshot.ID(name); known && c.snapshot.Cluster(id) != nil {
		return c.snapshot.Cluster(id), nil
	}
	return nil, fmt.Errorf("%s %s: there is no such cluster", flag, name)
}

func (c *changeApplier) cordon(in *Proposal) error {
	for _, name := range in.Cordoned {
		found, err := c.find("--cordon", name)
		if err != nil {
			return err
		}
		c.taint(found, cordonKey, clusterv1.TaintEffectNoSelectIfNew)
	}
	return nil
}

func (c *changeApplier) drain(in *Proposal) error {
	for _, text := range in.Drained {
		selector, err := labels.Parse(text)
		if err != nil {
			return fmt.Errorf("--drain %q is no label selector: %w", text, err)
		}
		var matching []*fleet.Cluster
		for _, cluster := range c.snapshot.Clusters() {
			if selector.Matches(labels.Set(cluster.Object.Labels)) {
				matching = append(matching, cluster)
			}
		}
		if len(matching) == 0 {
			return fmt.Errorf("--drain %s: no cluster matches", text)
		}
		for _, cluster := range matching {
			c.taint(cluster, drainKey, clusterv1.TaintEffectNoSelect)
		}
	}
	return nil
}

func (c *changeApplier) taint(cluster *fleet.Cluster, key string, effect clusterv1.TaintEffect) {
	tainted := cluster.Object.DeepCopy()
	tainted.Spec.Taints = append(tainted.Spec.Taints, clusterv1.Taint{Key: key, Effect: effect, TimeAdded: metav1.NewTime(c.snapshot.Now)})
	c.cluster(tainted)
}

func (c *changeApplier) remove(in *Proposal) error {
	for _, name := range in.Removed {
		if err := c.delete(ObjectReference{kind: "cluster", name: name}); err != nil {
			return fmt.Errorf("--remove %s: there is no such cluster", name)
		}
	}
	return nil
}

// delete deletes an object that is there.
func (c *changeApplier) delete(o ObjectReference) error {
	key := fleet.Key{Namespace: o.namespace, Name: o.name}
	missing := fmt.Errorf("--delete %s: there is no such object", o)
	switch o.kind {
	case "cluster":
		var before *fleet.Cluster
		c.edit(func(e *fleet.Edit) { before = e.DeleteCluster(o.name) })
		if before == nil {
			return missing
		}
		c.touch(c.index.ClusterChanged(c.snapshot, before, nil))
	case "set":
		if _, there := c.snapshot.Set(o.name); !there {
			return missing
		}
		delete(c.wanted, o.name)
		c.edit(func(e *fleet.Edit) { e.DeleteSet(o.name) })
		c.reindex(c.index.BySet(o.name))
	case "binding":
		if !slices.Contains(c.snapshot.BoundSets(o.namespace), o.name) {
			return missing
		}
		c.edit(func(e *fleet.Edit) { e.Unbind(o.namespace, o.name) })
		c.reindex(c.index.ByNamespace(o.namespace))
	case "placement":
		if c.placements[key] == nil {
			return missing
		}
		delete(c.placements, key)
		c.index.Remove(key)
		c.edit(func(e *fleet.Edit) { e.SetSlices(key, nil) })
	default:
		return c.deleteScore(o, missing)
	}
	return nil
}

func (c *changeApplier) deleteScore(o ObjectReference, missing error) error {
	id, known := c.snapshot.ID(o.namespace)
	if !known || c.snapshot.Score(id, o.name) == nil {
		return missing
	}
	c.score(o.namespace, o.name, func(e *fleet.Edit) { e.DeleteScore(o.namespace, o.name) })
	return nil
}
