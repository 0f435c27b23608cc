package fleet

import (
	"iter"
	"slices"
	"time"

	"github.com/bits-and-blooms/bitset"
	"github.com/tidwall/btree"
)

// Snapshot is a fleet at one instant. It is immutable and safe for concurrent use.
type Snapshot struct {
	// Now is the instant for which decisions are made. Set it with At.
	Now time.Time

	// Rules are those of the hub.
	Rules Rules
	// Retention is the grace after a start; the zero value means no grace. Set it with Retain.
	Retention Retention

	emptySet *bitset.BitSet
	// ids are the IDs by name, names the names by ID.
	ids            btree.Map[string, ID]
	names          column[string]
	nameOrder      *nameOrder
	rows           column[*row]
	cpu            column[Allocatable]
	memory         column[Allocatable]
	facetVersions  [facetCount]column[*Edit]
	idLimit        ID
	free           []ID
	terms          btree.Map[Term, *posting]
	sets           btree.Map[string, *Set]
	bindings       btree.Map[string, boundSets]
	decisions      btree.Map[string, *placementDecisions]
	decisionCounts column[int32]
	// withdrawn are the sets and bindings that the API server no longer has and whose grace has not ended.
	withdrawn btree.Map[withdrawal, struct{}]
	// histogram has the number of clusters by decision count, without count 0. maxDecisionCount is the highest count.
	histogram        column[int32]
	maxDecisionCount int32
}

// Rules are what the operator of a hub has chosen for all placements. The zero Rules are those of a hub without options.
type Rules struct {
	// HoldEmptyingEdits holds an edit that would leave a placement without clusters, until it is confirmed.
	HoldEmptyingEdits bool
	// KeepHeldEdits does so for an edit that is held by the stored status, where the rule of the hub is not known.
	KeepHeldEdits bool
	// HoldUnknownReferences holds an edit by which clusters would leave because it names what no cluster in reach has.
	HoldUnknownReferences bool
	// ExpressionHold is how long an incumbent stays on which an expression fails because a claim or score is missing, and how
	// long the last value of a score that is missing or out of date counts for an incumbent. 0 means not at all.
	ExpressionHold time.Duration
}

// row is the cluster and the scores of one name. Rows are replaced, never changed.
type row struct {
	cluster *Cluster
	scores  []*Score
}

// posting is the set of clusters for which a term holds. Only the edit that made it may change it.
type posting struct {
	owner *Edit
	IDSet
}

// Empty returns a snapshot with nothing in it.
func Empty() *Snapshot {
	return &Snapshot{emptySet: &bitset.BitSet{}, nameOrder: &nameOrder{}}
}

// At returns the same fleet at another instant.
func (s *Snapshot) At(now time.Time) *Snapshot {
	out := *s
	out.Now = now
	return &out
}

// Retention is the grace after a start. What was withdrawn shortly before is not known then, so incumbents that do not qualify stay.
type Retention struct {
	// Until is when it ends.
	Until time.Time
	// Only are the incumbents that it concerns; nil for all. These did not qualify when the placement was first decided after the start.
	Only []string
}

// Retain returns the same fleet with a grace after a start.
func (s *Snapshot) Retain(of Retention) *Snapshot {
	out := *s
	out.Retention = of
	return &out
}

// Retained returns which of some incumbents the grace after a start keeps, in a new set; nil without such a grace.
func (s *Snapshot) Retained(of *bitset.BitSet) *bitset.BitSet {
	if !s.Now.Before(s.Retention.Until) {
		return nil
	}
	if s.Retention.Only == nil {
		return of.Clone()
	}
	out := &bitset.BitSet{}
	for _, name := range s.Retention.Only {
		if id, known := s.ID(name); known && of.Test(id) {
			out.Set(id)
		}
	}
	return out
}

// IDLimit is the number of IDs in use or free: every ID is below it.
func (s *Snapshot) IDLimit() uint { return s.idLimit }

// ClustersWith returns the clusters for which a term holds.
func (s *Snapshot) ClustersWith(term Term) IDSet {
	if found, ok := s.terms.Get(term); ok {
		return found.IDSet
	}
	return IDSet{}
}

// EmptySet returns the empty set. It is read-only: all callers share it, in this snapshot and others.
func (s *Snapshot) EmptySet() *bitset.BitSet { return s.emptySet }

// ID returns the number of a name. Ok is false if the snapshot does not contain the name.
func (s *Snapshot) ID(name string) (id ID, ok bool) {
	return s.ids.Get(name)
}

// Name returns the name that has an ID, or "" if no name has it.
func (s *Snapshot) Name(id ID) string { return s.names.at(id) }

// Cluster returns a cluster by ID, or nil if no such cluster exists (its scores or decisions may).
func (s *Snapshot) Cluster(id ID) *Cluster {
	if r := s.rows.at(id); r != nil {
		return r.cluster
	}
	return nil
}

// HasSameClusters reports whether another snapshot of the fleet has clusters of the same names.
func (s *Snapshot) HasSameClusters(other *Snapshot) bool {
	have := s.ClustersWith(TermExists)
	if have.Count() != other.ClustersWith(TermExists).Count() {
		return false
	}
	for id := range have.All() {
		if twin := other.Cluster(id); twin == nil || twin.Name() != s.Name(id) {
			return false
		}
	}
	return true
}

// HasSameTerms reports whether the clusters of another snapshot have the same labels, claims, taints and metadata. Both snapshots have the
// same clusters.
func (s *Snapshot) HasSameTerms(other *Snapshot) bool {
	for id := range s.ClustersWith(TermExists).All() {
		was, is := s.Cluster(id), other.Cluster(id)
		if was != is && ChangedFacets(was.Object, is.Object)&TermFacets != 0 {
			return false
		}
	}
	return true
}

// CPU returns the allocatable CPU of all clusters.
func (s *Snapshot) CPU() Amounts { return Amounts{s.cpu} }

// Memory returns the allocatable memory of all clusters.
func (s *Snapshot) Memory() Amounts { return Amounts{s.memory} }

// Score returns the score of an add-on resource for a cluster; nil if it does not exist.
func (s *Snapshot) Score(id ID, resource string) *Score {
	if found := s.score(id, resource); found != nil && !found.Gone {
		return found
	}
	return nil
}

// score is Score, and also returns a score with lost values only.
func (s *Snapshot) score(id ID, resource string) *Score {
	r := s.rows.at(id)
	if r == nil {
		return nil
	}
	if at, found := scoreIndex(r.scores, resource); found {
		return r.scores[at]
	}
	return nil
}

// LastValue returns the last value of a score that is missing or out of date, if it still counts for an incumbent, and until when.
func (s *Snapshot) LastValue(id ID, resource, name string) (value int32, until time.Time, ok bool) {
	if s.Rules.ExpressionHold == 0 {
		return 0, time.Time{}, false
	}
	found := s.score(id, resource)
	if found == nil {
		return 0, time.Time{}, false
	}
	value, since, lost := found.LastValue(name, s.Now)
	until = since.Add(s.Rules.ExpressionHold)
	return value, until, lost && s.Now.Before(until)
}

// ScoreNames returns the names of the scores of a resource that a cluster has or had.
func (s *Snapshot) ScoreNames(id ID, resource string) []string {
	found := s.score(id, resource)
	if found == nil {
		return nil
	}
	return found.names()
}

// AllScoreNames yields each add-on resource of a cluster with the names of the scores that it has or had.
func (s *Snapshot) AllScoreNames(id ID) iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		r := s.rows.at(id)
		if r == nil {
			return
		}
		for _, score := range r.scores {
			if !yield(score.Resource, score.names()) {
				return
			}
		}
	}
}

// LostScore returns the first of some resources that reports no score for a cluster, or fewer than before. With all set it looks at every
// resource of the cluster.
func (s *Snapshot) LostScore(id ID, resources []string, all bool) (resource string, ok bool) {
	r := s.rows.at(id)
	if r == nil {
		return "", false
	}
	for _, score := range r.scores {
		if (all || slices.Contains(resources, score.Resource)) && (len(score.Items) == 0 || len(score.Lost) > 0) {
			return score.Resource, true
		}
	}
	return "", false
}

// Set returns a ManagedClusterSet by name. Ok is false if it does not exist.
func (s *Snapshot) Set(name string) (set *Set, ok bool) { return s.sets.Get(name) }

// Sets yields every set, by name.
func (s *Snapshot) Sets() iter.Seq[*Set] {
	return func(yield func(*Set) bool) {
		s.sets.Scan(func(_ string, set *Set) bool { return yield(set) })
	}
}

// BoundSets returns the names of the sets that a namespace's bindings name, sorted, whether they exist or not.
func (s *Snapshot) BoundSets(namespace string) []string {
	found, _ := s.bindings.Get(namespace)
	return found.sets
}

// withdrawal identifies a set or a binding that is being withdrawn. Names of API objects have no slash.
type withdrawal string

func withdrawnSet(name string) withdrawal { return withdrawal(name) }

func withdrawnBinding(namespace, set string) withdrawal { return withdrawal(namespace + "/" + set) }

// Withdrawing reports whether a set, or the binding of a namespace to it, is being withdrawn.
func (s *Snapshot) Withdrawing(namespace, set string) bool {
	if s.withdrawn.Len() == 0 {
		return false
	}
	_, gone := s.withdrawn.Get(withdrawnSet(set))
	_, unbound := s.withdrawn.Get(withdrawnBinding(namespace, set))
	return gone || unbound
}

// AsStored returns the fleet with some clusters as the API server has them, without the labels and claims that are being withdrawn.
func (s *Snapshot) AsStored(clusters *bitset.BitSet) *Snapshot {
	e := s.Edit()
	for id := range clusters.EachSet() {
		if cluster := s.Cluster(id); cluster.Withdrawing() {
			e.SetCluster(cluster.Stored)
		}
	}
	return e.Snapshot()
}

// SetNameFilter returns a function that reports whether a placement may use a set. An empty list allows every set.
func SetNameFilter(requested []string) func(set string) bool {
	if len(requested) == 0 {
		return func(string) bool { return true }
	}
	sorted := slices.Sorted(slices.Values(requested))
	return func(set string) bool {
		_, found := slices.BinarySearch(sorted, set)
		return found
	}
}

// boundSets is the sets that a namespace binds, sorted. Only the edit that made it may change it.
type boundSets struct {
	owner *Edit
	sets  []string
}

// Slices returns the current decisions of a placement, by number.
func (s *Snapshot) Slices(key Key) []Slice {
	if found, ok := s.decisions.Get(key.String()); ok {
		return found.withNames(s)
	}
	return nil
}

// Incumbents returns the clusters that a placement has selected. A deleted cluster may be among them.
func (s *Snapshot) Incumbents(key Key) IDSet {
	if found, ok := s.decisions.Get(key.String()); ok {
		return found.all
	}
	return IDSet{}
}

// DecisionCount returns how many placements have selected a cluster.
func (s *Snapshot) DecisionCount(id ID) int { return int(s.decisionCounts.at(id)) }

// TotalDecisions returns the number of decisions of all placements.
func (s *Snapshot) TotalDecisions() int {
	out := 0
	for id := range s.Clusters() {
		out += s.DecisionCount(id)
	}
	return out
}

// TotalSelected returns the number of clusters that a placement has selected, however many have selected each.
func (s *Snapshot) TotalSelected() int {
	out := 0
	for id := range s.Clusters() {
		if s.DecisionCount(id) > 0 {
			out++
		}
	}
	return out
}

// MaxDecisionCount returns the highest decision count of any cluster, after subtracting one from the count of each
// cluster in except.
func (s *Snapshot) MaxDecisionCount(except IDSet) int {
	clusters := s.histogram.at(ID(s.maxDecisionCount)) //nolint:gosec // a count is not negative
	for id := range except.All() {
		if s.decisionCounts.at(id) == s.maxDecisionCount {
			clusters--
		}
	}
	if clusters > 0 || s.maxDecisionCount == 0 {
		return int(s.maxDecisionCount)
	}
	return int(s.maxDecisionCount) - 1
}

// Clusters yields every cluster with its ID, in no order.
func (s *Snapshot) Clusters() iter.Seq2[ID, *Cluster] {
	return func(yield func(ID, *Cluster) bool) {
		for id := range s.ClustersWith(TermExists).All() {
			if !yield(id, s.Cluster(id)) {
				return
			}
		}
	}
}

// OnlyCluster returns the fleet as if one existing cluster were its only cluster and nothing were decided. It keeps the
// sets, the bindings, the cluster and its scores. The ID of the cluster may differ.
func (s *Snapshot) OnlyCluster(id ID) *Snapshot {
	edit := Empty().Edit()
	edit.next.sets, edit.next.bindings = *clone(s.sets), *clone(s.bindings)
	r := s.rows.at(id)
	edit.SetCluster(r.cluster)
	for _, score := range r.scores {
		edit.SetScore(r.cluster.Name(), score)
	}
	return edit.Snapshot().At(s.Now)
}
