package web

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/membership/join"
)

// Writer carries out the writes of pages as the commands accept, deny and rollout do. It implements console.Writer.
type Writer struct{ joins, works client.Client }

// NewWriter returns a writer with the rights of a configuration.
func NewWriter(config *rest.Config) (*Writer, error) {
	joins, err := join.NewClient(config)
	if err != nil {
		return nil, err
	}
	works, err := rollouts.NewClient(config)
	return &Writer{joins, works}, err
}

// Accept implements console.Writer.
func (w *Writer) Accept(ctx context.Context, cluster string, accepted bool) (string, error) {
	changed, err := join.SetAccepted(ctx, w.joins, cluster, accepted)
	if err != nil {
		return "", err
	}
	done := "The cluster " + cluster + map[bool]string{true: " is accepted", false: " is denied"}[accepted]
	if !changed {
		done += " already"
	}
	if !accepted {
		return done + ".", nil
	}
	request, err := join.ApproveShared(ctx, w.joins, cluster)
	if err != nil {
		return "", fmt.Errorf("the cluster %s is accepted, but its certificate request is not: %w", cluster, err)
	}
	if request != "" {
		done += ", and its certificate request " + request + " is approved"
	}
	return done + ".", nil
}

// Roll implements console.Writer.
func (w *Writer) Roll(ctx context.Context, wanted console.RolloutChange) (string, error) {
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := w.works.Get(ctx, client.ObjectKey{Namespace: wanted.Set.Namespace, Name: wanted.Set.Name}, set); err != nil {
		return "", fmt.Errorf("reading the set %s: %w", wanted.Set, err)
	}
	steer := rollouts.Steering{Placement: wanted.Placement}
	var changed bool
	var advance []string
	var err error
	switch wanted.Action {
	case "approve":
		changed, advance, err = steer.Approve(ctx, w.works, set, []string{wanted.Group})
	case "pause":
		changed, err = steer.Pause(ctx, w.works, set)
	default:
		changed, err = steer.Resume(ctx, w.works, set)
	}
	if err != nil {
		return "", err
	}
	done := "The rollout of " + wanted.Set.String() + " is " + map[string]string{
		"pause": "paused", "resume": "resumed",
		"approve": "approved",
	}[wanted.Action]
	if !changed {
		return done + " already.", nil
	}
	return done + rollouts.InAdvance(advance) + ".", nil
}
