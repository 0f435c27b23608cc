package engine_test

import (
	"cmp"
	"fmt"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
)

// The loop of a caller: snapshot, compile, decide, diff, apply. The second round finds nothing to write.
func Example() {
	hub := enginetest.NewState(
		enginetest.Set("prod").Obj(), enginetest.Cluster("eu-1").In("prod").Obj(), enginetest.Cluster("us-1").In("prod").Obj(),
		enginetest.Placement("shop", "web").Number(1).Obj(),
	).Bind("shop", "prod")
	env, err := celenv.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	key := fleet.Key{Namespace: "shop", Name: "web"}
	for range 2 {
		snapshot, stored := hub.Snapshot(), hub.Stored(key)            // a controller edits its last snapshot
		compiled, faults := program.Compile(stored.Placement, env)     // once for each spec
		past := plan.ReadLedger(stored.Placement)                      // budgets and waiting clusters
		result := engine.Decide(snapshot, key, compiled, faults, past) // pure
		changes := plan.Diff(result, stored, hub.Now)                  // ordered writes
		fmt.Println(result.Clusters(), len(changes.Writes), "writes")
		for _, write := range changes.Writes { // a controller stops at the first write that fails
			hub.Apply(write)
			name := ""
			if write.Slice != nil {
				name = write.Slice.Name
			}
			fmt.Println(write.Verb, cmp.Or(name, key.String()))
		}
	}
	// Output:
	// [eu-1] 3 writes
	// create web-decision-1
	// update-metadata web-decision-1
	// update-status shop/web
	// [eu-1] 0 writes
}
