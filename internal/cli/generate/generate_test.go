package generate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/cli/generate"
)

func thousandClusters() *generate.Fleet {
	return generate.New(generate.Shape{Clusters: 1000, Placements: 1000, Seed: 7})
}

func TestTheSameShapeGivesTheSameFleet(t *testing.T) {
	one, other := thousandClusters(), thousandClusters()
	if !bytes.Equal(encoded(t, one), encoded(t, other)) {
		t.Errorf("two fleets of one shape (-one +other):\n%s", cmp.Diff(one, other))
	}
	foreign := generate.New(generate.Shape{Clusters: 1000, Placements: 1000, Seed: 8})
	if bytes.Equal(encoded(t, one.Clusters), encoded(t, foreign.Clusters)) ||
		bytes.Equal(encoded(t, one.Placements), encoded(t, foreign.Placements)) {
		t.Error("another seed gives the same fleet")
	}
}

func encoded(t *testing.T, what any) []byte {
	t.Helper()
	out, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestClustersAreOfRealisticShape(t *testing.T) {
	f := thousandClusters()
	tainted, byRegion := 0, map[string]int{}
	for _, c := range f.Clusters {
		if n := len(c.Status.ClusterClaims); n < 5 || n > 20 {
			t.Errorf("%s has %d claims, want 5 to 20", c.Name, n)
		}
		for _, name := range []clusterv1.ResourceName{clusterv1.ResourceCPU, clusterv1.ResourceMemory} {
			free, all := c.Status.Allocatable[name], c.Status.Capacity[name]
			if free.Sign() <= 0 || free.Cmp(all) >= 0 {
				t.Errorf("%s has %s of %s %s to give away", c.Name, free.String(), all.String(), name)
			}
		}
		if len(c.Spec.Taints) > 0 {
			tainted++
		}
		byRegion[c.Labels["topology.kubernetes.io/region"]]++
	}
	if tainted < len(f.Clusters)/100 || tainted > len(f.Clusters)*3/100 {
		t.Errorf("%d of %d clusters are tainted, want 1 to 3 percent", tainted, len(f.Clusters))
	}
	sizes := slices.Sorted(func(yield func(int) bool) {
		for _, size := range byRegion {
			if !yield(size) {
				return
			}
		}
	})
	if least, most := sizes[0], sizes[len(sizes)-1]; len(sizes) < 20 || most < 10*least {
		t.Errorf("%d regions of %d to %d clusters, want many, a few of them far larger than others", len(sizes), least, most)
	}
}

func TestEverySelectorIsDistinctAndMatches(t *testing.T) {
	for name, shape := range map[string]generate.Shape{
		"a thousand clusters":                     {Clusters: 1000, Placements: 1000, Seed: 7},
		"more placements than distinct selectors": {Clusters: 3, Placements: 1000, Seed: 7},
	} {
		t.Run(name, func(t *testing.T) {
			f := generate.New(shape)
			known := map[string]string{}
			for _, p := range f.Placements {
				selector := p.Spec.Predicates[0].RequiredClusterSelector
				text := metav1.FormatLabelSelector(&selector.LabelSelector) + "; " +
					metav1.FormatLabelSelector(&metav1.LabelSelector{MatchExpressions: selector.ClaimSelector.MatchExpressions})
				if other, ok := known[text]; ok {
					t.Errorf("%s and %s have the same selector %s", other, p.Name, text)
				}
				known[text] = p.Name
				if !slices.ContainsFunc(f.Clusters, matches(t, selector)) {
					t.Errorf("no cluster matches the selector of %s: %s", p.Name, text)
				}
			}
			if len(known) != shape.Placements {
				t.Errorf("%d selectors, want %d", len(known), shape.Placements)
			}
		})
	}
}

// matches returns a function that reports whether a cluster has the labels and the claims of a selector.
func matches(t *testing.T, selector clusterv1beta1.ClusterSelector) func(*clusterv1.ManagedCluster) bool {
	t.Helper()
	byLabel, labelErr := metav1.LabelSelectorAsSelector(&selector.LabelSelector)
	byClaim, claimErr := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: selector.ClaimSelector.MatchExpressions})
	if err := errors.Join(labelErr, claimErr); err != nil {
		t.Fatal(err)
	}
	return func(c *clusterv1.ManagedCluster) bool {
		claims := labels.Set{}
		for _, claim := range c.Status.ClusterClaims {
			claims[claim.Name] = claim.Value
		}
		return byLabel.Matches(labels.Set(c.Labels)) && byClaim.Matches(claims)
	}
}

func TestGeneratedObjectsAreValid(t *testing.T) {
	f := thousandClusters()
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Placements {
		if _, errs := program.Compile(p, env); len(errs) > 0 {
			t.Errorf("%s: %v", p.Name, errs)
		}
	}
	names := map[string]bool{}
	for _, b := range f.Bindings {
		key := b.Namespace + "/" + b.Name
		if names[key] || b.Name != b.Spec.ClusterSet || !slices.Contains(f.Namespaces, b.Namespace) {
			t.Errorf("binding %s of %s is there already, or not named after its set, or in no namespace", key, b.Spec.ClusterSet)
		}
		names[key] = true
	}
	if got := strings.Join(f.Namespaces[:2], " "); len(f.Namespaces) != 50 || got != "team-000 team-001" {
		t.Errorf("%d namespaces, the first %s", len(f.Namespaces), got)
	}
}

// TestAFourthOfEveryNamespaceRanksWithoutBalance counts the placements that do not read the decisions of other
// placements.
func TestAFourthOfEveryNamespaceRanksWithoutBalance(t *testing.T) {
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	f := thousandClusters()
	alone := map[string]int{}
	for _, p := range f.Placements {
		compiled, _ := program.Compile(p, env)
		switch {
		case compiled.HasPrioritizer(program.Balance):
		case !compiled.HasPrioritizer(program.Steady) || !compiled.HasPrioritizer(program.AllocatableMemory):
			t.Errorf("%s ranks by %v, want what it has and what clusters offer", p.Name, compiled.Prioritizers)
		default:
			alone[p.Namespace]++
		}
	}
	for _, namespace := range f.Namespaces {
		if alone[namespace] != 5 {
			t.Errorf("%d of 20 placements in %s rank alone, want a fourth", alone[namespace], namespace)
		}
	}
}

func TestScoresChangeNothingElse(t *testing.T) {
	plain, scored := thousandClusters(), generate.New(generate.Shape{Clusters: 1000, Placements: 1000, ScoredPercent: 10, Seed: 7})
	ranked := 0
	for i, p := range scored.Placements {
		configurations := p.Spec.PrioritizerPolicy.Configurations
		if last := len(configurations) - 1; last >= 0 && configurations[last].ScoreCoordinate.AddOn != nil {
			ranked++
			continue
		}
		if diff := cmp.Diff(plain.Placements[i], p); diff != "" {
			t.Errorf("a placement that ranks by no score (-without scores +with):\n%s", diff)
		}
	}
	if ranked < 50 || ranked > 200 {
		t.Errorf("%d of 1000 placements rank by a score, want a tenth or so", ranked)
	}
	if !bytes.Equal(encoded(t, plain.Clusters), encoded(t, scored.Clusters)) || len(plain.Scores) != 0 ||
		len(scored.Scores) != len(scored.Clusters) {
		t.Errorf("%d scores without, %d with, want none and one for each of %d clusters, which are the same", len(plain.Scores),
			len(scored.Scores), len(scored.Clusters))
	}
	for i, score := range scored.Scores {
		if score.Namespace != scored.Clusters[i].Name || len(score.Status.Scores) != 1 {
			t.Errorf("score %d is %+v", i, score)
		}
	}
}
