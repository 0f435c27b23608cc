package clitest

import (
	"testing"
	"time"

	"github.com/berth-project/berth/internal/delivery/plan/plantest"
)

// Breached returns a set whose second version failed on two of six clusters: the member of one refuses it, the objects of the other fail.
func Breached(t testing.TB) *plantest.State {
	t.Helper()
	const strategy = "{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 1, progressDeadline: 10m, " +
		"mandatoryDecisionGroups: [{groupName: canary}]}}"
	w := plantest.New(t, Now().Add(-time.Hour), strategy,
		plantest.Group{Name: "canary", Clusters: []string{"canary-1"}}, plantest.Group{Clusters: plantest.Clusters("edge", 5)})
	for range 4 {
		w.Succeed(w.Step()...)
	}
	w.Wait(50 * time.Minute)
	w.Template("2")
	w.Succeed(w.Step()...)
	w.Wait(time.Minute)
	if started := w.Step(); len(started) != 2 {
		t.Fatalf("%v started", started)
	}
	w.Wait(time.Minute)
	w.Refuse("edge-0", `Failed to apply manifest: Deployment.apps "web" is invalid: spec.selector: field is immutable`)
	w.Degrade("edge-1", "1 of 1 resources are failing: Deployment shop/web: Deployment exceeded its progress deadline")
	w.Step()
	w.Now = Now()
	return w
}
