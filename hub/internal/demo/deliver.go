package demo

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/berth-project/berth/hub/internal/scenario"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/rollout"
)

const (
	storeNamespace = "store"
	// movedTo is the member that takes over what the stopped one ran.
	movedTo = "edge-3"
)

// deliver rolls a Deployment out over the three members, then a broken version of it, and returns to the first. It delivers what moves
// later on the way.
func (m *members) deliver(ctx context.Context, good, broken scenario.Step) error {
	if err := m.print("\nA ManifestWorkReplicaSet delivers a Deployment to the members, one by one.\n"); err != nil {
		return err
	}
	began := m.clock.Now()
	if err := m.hub.Apply(ctx, good); err != nil {
		return err
	}
	if err := m.awaitRollout(ctx, "kiosk", finishedOn(memberNames()...)); err != nil {
		return err
	}
	if err := m.print("All three run it after %.1f s.\n", m.clock.Since(began).Seconds()); err != nil {
		return err
	}
	if err := m.showRollout(ctx, "status", "kiosk"); err != nil {
		return err
	}
	began = m.clock.Now()
	if err := m.hub.Apply(ctx, broken); err != nil {
		return err
	}
	if err := m.awaitRollout(ctx, "kiosk", standsStill); err != nil {
		return err
	}
	if err := m.print("\nThe next version has an image that does not exist. It stands still after %.1f s.\n",
		m.clock.Since(began).Seconds()); err != nil {
		return err
	}
	if err := m.showRollout(ctx, "status", "kiosk"); err != nil {
		return err
	}
	began = m.clock.Now()
	if err := m.showRollout(ctx, "undo", "kiosk"); err != nil {
		return err
	}
	if err := m.awaitRollout(ctx, "kiosk", finishedOn(memberNames()...)); err != nil {
		return err
	}
	return m.print("\nAll three run the former version after %.1f s.\n", m.clock.Since(began).Seconds())
}

// showMoved waits until the copy of the stopped member runs elsewhere.
func (m *members) showMoved(ctx context.Context) error {
	if err := m.awaitRollout(ctx, "tills", finishedOn(movedTo)); err != nil {
		return err
	}
	return m.showRollout(ctx, "status", "tills")
}

// showReturned waits until the member that was started again has its kiosk back.
func (m *members) showReturned(ctx context.Context) error {
	if err := m.awaitRollout(ctx, "kiosk", finishedOn(memberNames()...)); err != nil {
		return err
	}
	return m.showRollout(ctx, "status", "kiosk")
}

func (m *members) showRollout(ctx context.Context, command, set string) error {
	return m.show(ctx, "", "rollout", command, set, "-n", storeNamespace)
}

// awaitRollout waits until the report of a set is as wanted.
func (m *members) awaitRollout(ctx context.Context, set string, wanted func(*report.Report) bool) error {
	found := report.Report{}
	err := wait.PollUntilContextTimeout(ctx, explainInterval, memberTimeout, true, func(ctx context.Context) (bool, error) {
		found = report.Report{}
		err := m.read(ctx, &found, "rollout", "status", set, "-n", storeNamespace)
		return err == nil && wanted(&found), err
	})
	if err != nil {
		return fmt.Errorf("waiting for the set %s, which is %s (%s): %w", set, found.Phase, found.Message, err)
	}
	return nil
}

// finishedOn reports whether a rollout is finished and succeeded on clusters.
func finishedOn(clusters ...string) func(*report.Report) bool {
	return func(of *report.Report) bool {
		return of.Phase == string(rollout.PhaseFinished) && !slices.ContainsFunc(clusters, func(name string) bool {
			return !slices.ContainsFunc(of.Clusters, func(c report.Cluster) bool {
				return c.Cluster == name && c.Placement != "" && c.State == rollout.StateSucceeded
			})
		})
	}
}

// standsStill reports whether a rollout starts no more clusters after a failure.
func standsStill(of *report.Report) bool {
	return of.Phase == string(rollout.PhaseBreached) &&
		!slices.ContainsFunc(of.Clusters, func(c report.Cluster) bool { return c.State == rollout.StateProgressing })
}
