package cli

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli/web"
	"github.com/berth-project/berth/internal/console"
)

// TestAPageDecidesInTheRolloutControl: a pause and a resume from a page are in the RolloutControl, with the user, and not in the set. A
// group that does not exist is refused.
func TestAPageDecidesInTheRolloutControl(t *testing.T) {
	c, namespace := kit.New(t, shared), shared.Namespace(t)
	set := kit.WorkSet(namespace, "web")
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "p"}}
	set.Spec.PlacementRefs[0].RolloutStrategy.Approval = &clusterv1alpha1.RolloutApproval{}
	manifest := workv1.Manifest{}
	manifest.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"web"}}`)
	set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{manifest}
	c.MustCreate(set)
	writer := kit.Must(web.NewWriter(shared.Config())).In(t)
	wanted := console.RolloutChange{Set: fleet.Key{Namespace: namespace, Name: "web"}}
	for _, action := range []string{"pause", "resume"} {
		wanted.Action = action
		done, err := writer.Roll(t.Context(), wanted)
		if err != nil || !strings.HasSuffix(done, map[string]string{"pause": "paused.", "resume": "resumed."}[action]) {
			t.Fatalf("%s: %q, %v", action, done, err)
		}
		control := &rolloutv1alpha1.RolloutControl{}
		kit.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(set), control))
		if control.Spec.Paused != (action == "pause") || control.Spec.PausedBy == "" {
			t.Errorf("%s: %+v", action, control.Spec)
		}
		generation := set.Generation
		if c.MustRead(set); set.Generation != generation || set.Spec.PlacementRefs[0].RolloutStrategy.Paused {
			t.Errorf("%s: the set was changed: %+v", action, set.Spec.PlacementRefs[0])
		}
	}
	wanted.Action, wanted.Group = "approve", "canry"
	if _, err := writer.Roll(t.Context(), wanted); err == nil || !strings.Contains(err.Error(), `has no group "canry": the groups are none`) {
		t.Errorf("err = %v", err)
	}
}
