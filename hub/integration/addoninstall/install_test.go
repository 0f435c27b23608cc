package addoninstall

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestAnAddOnFollowsItsPlacement installs an add-on in waves, changes its configuration, lets the canary fail, returns to the configuration
// before, moves the decision, and deletes the add-on.
func TestAnAddOnFollowsItsPlacement(t *testing.T) {
	f := newFleet(t, 4)
	name := f.namespace
	f.configure("one")
	p := f.startProgram(name)
	startManager(t)
	f.install(name)

	f.awaitVersions(p, "one", "one", "one", "one")
	good := p.versionIn(f.awaitProgress(p, "one", "Completed"), "lastKnownGoodConfig")
	if p.order[0] != f.clusters[0] || p.underWay > 1 || good != "one" {
		t.Errorf("the order is %v, %d at once, last known good %s", p.order, p.underWay, good)
	}

	t.Log("a configuration that fails stops at the canary")
	f.configure("broken")
	progress := f.awaitProgress(p, "broken", "Failed")
	f.awaitVersions(p, "one!", "one", "one", "one")
	if message := fmt.Sprint(condition(progress, "conditions", "Progressing")["message"]); !strings.Contains(message, f.clusters[0]) ||
		p.versionIn(progress, "lastKnownGoodConfig") != "one" {
		t.Errorf("the message is %q, last known good %s", message, p.versionIn(progress, "lastKnownGoodConfig"))
	}
	f.configure("one")
	f.awaitVersions(p, "one", "one", "one", "one")
	f.awaitProgress(p, "one", "Completed")

	t.Log("the next one reaches all")
	f.configure("two")
	f.awaitVersions(p, "two", "two", "two", "two")
	if good := p.versionIn(f.awaitProgress(p, "two", "Completed"), "lastKnownGoodConfig"); good != "two" {
		t.Errorf("last known good %s", good)
	}
	if p.underWay > 1 {
		t.Errorf("%d clusters at once", p.underWay)
	}

	t.Log("a decision removes and installs; an add-on of a user stays")
	f.label(f.clusters[3], "use", "no")
	f.awaitVersions(p, "two", "two", "two", "-")
	f.MustCreate(addOnOf(f.clusters[3], name))
	f.awaitVersions(p, "two", "two", "two", "two")
	f.label(f.clusters[3], "use", "yes")
	f.label(f.clusters[3], "use", "no")

	t.Log("a missing placement removes nothing")
	f.MustDelete(f.placement())
	f.awaitProgress(p, "two", "Undecided")
	f.awaitVersions(p, "two", "two", "two", "two")

	t.Log("the add-on goes, and that of the user stays")
	f.MustDelete(parse(t, fmt.Sprintf("{apiVersion: %s, kind: ClusterManagementAddOn, metadata: {name: %s}}", addOnVersion, name)))
	f.awaitVersions(p, "-", "-", "-", "two")
}

// stillness is how long nothing is written on a settled hub. It is longer than the first retries of a controller.
const stillness = 2 * time.Second

// TestASettledHubIsNotWritten holds that a manager which starts on a settled hub writes nothing.
func TestASettledHubIsNotWritten(t *testing.T) {
	f := newFleet(t, 3)
	name := f.namespace
	f.configure("one")
	p := f.startProgram(name)
	manager := startManager(t)
	f.install(name)
	f.awaitVersions(p, "one", "one", "one")
	f.awaitProgress(p, "one", "Completed")
	before, since := f.versions(name), time.Now()
	f.Await("the add-on is settled", func(context.Context) error { // the report of a rollout precedes what the manager writes last
		if now := f.versions(name); now != before { //nolint:contextcheck // it takes the context of the test
			before, since = now, time.Now()
		}
		if time.Since(since) < stillness {
			return errNotYet
		}
		return nil
	})
	manager.Stop()

	startManager(t)
	other := f.namespace + "-other"
	f.install(other) // it shows that the manager runs
	kit.Await(t, "the other add-on is installed", func(ctx context.Context) error {
		found, err := installed(ctx, f, other)
		if err == nil && len(found) == 0 {
			err = errNotYet
		}
		return err
	})
	if after := f.versions(name); after != before {
		t.Errorf("the versions before the start were %s, now %s", before, after)
	}
}

// versions returns the resource versions of an add-on and of its ManagedClusterAddOns.
func (f *fleet) versions(name string) string {
	f.t.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(addOnVersion)
	object.SetKind("ClusterManagementAddOn")
	f.MustGet(client.ObjectKey{Name: name}, object)
	out := []string{object.GetResourceVersion()}
	found := kit.Must(installed(f.t.Context(), f, name)).In(f.t)
	for _, cluster := range sortedKeys(found) {
		out = append(out, found[cluster].GetResourceVersion())
	}
	return strings.Join(out, " ")
}
