package suggest_test

import (
	"testing"

	"github.com/berth-project/berth/engine/suggest"
)

func TestNearest(t *testing.T) {
	kinds := []string{"ManagedCluster", "ManagedClusterSet", "Placement", "PlacementDecision"}
	for word, want := range map[string]string{
		"Placment": "Placement", "placement": "Placement", "Placements": "Placement", "ManagedClusterSets": "ManagedClusterSet",
		"Deployment": "", "": "", "P": "", "PlacementRule": "",
	} {
		if got := suggest.Nearest(word, kinds); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	if got, want := suggest.DidYouMean("Placment", kinds), "; did you mean Placement?"; got != want {
		t.Errorf("Question = %q, want %q", got, want)
	}
	if got := suggest.DidYouMean("Widget", kinds); got != "" {
		t.Errorf("Question = %q, want nothing", got)
	}
}
