package takeover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/source/page"
)

// fingerprintLength is how many bytes of a hash are kept.
const fingerprintLength = 8

// State has a fingerprint of what a takeover must not change.
type State struct {
	// Decisions are the clusters and groups of each placement, by its namespace and name.
	Decisions map[string]Fingerprint `json:"decisions"`
	// Works are the works of each namespace: their names, UIDs and generations.
	Works map[string]Fingerprint `json:"works"`
}

// Fingerprint is a number of things, and a hash of them.
type Fingerprint struct {
	Count int    `json:"n"`
	Hash  string `json:"h"`
}

// WorkCount returns the number of works.
func (s *State) WorkCount() int {
	out := 0
	for _, works := range s.Works {
		out += works.Count
	}
	return out
}

// ReadState reads all decisions and works of a hub, page by page.
func ReadState(ctx context.Context, hub client.Reader) (*State, error) {
	out := &State{Decisions: map[string]Fingerprint{}, Works: map[string]Fingerprint{}}
	if err := out.readDecisions(ctx, hub); err != nil {
		return nil, err
	}
	if err := out.readWorks(ctx, hub); err != nil {
		return nil, err
	}
	return out, nil
}

// readDecisions keeps the slices of one namespace at a time: a list is in the order of namespaces.
func (s *State) readDecisions(ctx context.Context, hub client.Reader) error {
	namespace, found := "", map[string][]*clusterv1beta1.PlacementDecision{}
	finish := func() {
		for placement, stored := range found {
			s.Decisions[namespace+"/"+placement] = ofDecisions(decision.Of(stored...))
		}
		clear(found)
	}
	err := page.Each(ctx, hub, &clusterv1beta1.PlacementDecisionList{}, func(read *clusterv1beta1.PlacementDecisionList) error {
		for i := range read.Items {
			slice := &read.Items[i]
			if slice.Namespace != namespace {
				finish()
				namespace = slice.Namespace
			}
			if placement := slice.Labels[clusterv1beta1.PlacementLabel]; placement != "" {
				found[placement] = append(found[placement], slice)
			}
		}
		return nil
	})
	finish()
	if err != nil {
		return fmt.Errorf("reading decisions: %w", err)
	}
	return nil
}

// readWorks reads the metadata of works.
func (s *State) readWorks(ctx context.Context, hub client.Reader) error {
	empty := &metav1.PartialObjectMetadataList{}
	empty.SetGroupVersionKind(workv1.SchemeGroupVersion.WithKind("ManifestWorkList"))
	namespace, count, sum := "", 0, sha256.New()
	finish := func() {
		if count > 0 {
			s.Works[namespace] = fingerprint(count, sum)
		}
		count = 0
		sum.Reset()
	}
	err := page.Each(ctx, hub, empty, func(read *metav1.PartialObjectMetadataList) error {
		for i := range read.Items {
			work := &read.Items[i]
			if work.Namespace != namespace {
				finish()
				namespace = work.Namespace
			}
			count++
			fmt.Fprintf(sum, "%s %s %d\n", work.Name, work.UID, work.Generation)
		}
		return nil
	})
	finish()
	if err != nil {
		return fmt.Errorf("reading works: %w", err)
	}
	return nil
}

// ofDecisions returns the fingerprint of the groups of a placement.
func ofDecisions(read decision.Decisions) Fingerprint {
	sum := sha256.New()
	for _, group := range read.Groups() {
		fmt.Fprintf(sum, "%d %s\n", group.Index, group.Name)
		for _, cluster := range slices.Sorted(slices.Values(group.Clusters)) {
			fmt.Fprintln(sum, cluster)
		}
	}
	return fingerprint(read.Len(), sum)
}

func fingerprint(count int, sum hash.Hash) Fingerprint {
	return Fingerprint{Count: count, Hash: hex.EncodeToString(sum.Sum(nil)[:fingerprintLength])}
}
