package reader

import (
	"context"
	"errors"
	"net/url"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var errBoom = errors.New("boom")

// timeoutError is the error of a connection that took too long.
type timeoutError struct{ error }

func (timeoutError) Timeout() bool { return true }

func TestExplain(t *testing.T) {
	resource := schema.GroupResource{Group: "cluster.open-cluster-management.io", Resource: "placements"}
	for name, tc := range map[string]struct {
		err       error
		kind      Kind
		namespace string
		want      string
	}{
		"no server answers": {
			&url.Error{Op: "Get", URL: "https://hub/apis", Err: errBoom}, PlacementKind(), "",
			"reading placements: the hub at https://hub cannot be reached: boom",
		},
		"the answer is late": {
			&url.Error{Op: "Get", URL: "https://hub/apis", Err: timeoutError{errBoom}}, PlacementKind(), "",
			`reading placements: the hub at https://hub did not answer in time: Get "https://hub/apis": boom`,
		},
		"there was no time to ask": {
			context.DeadlineExceeded, PlacementKind(), "",
			"reading placements: the hub at https://hub did not answer in time: context deadline exceeded",
		},
		"a right is missing": {
			apierrors.NewForbidden(resource, "", errBoom), PlacementKind(), "",
			"reading placements: the right to list placements.cluster.open-cluster-management.io in every namespace is missing; " +
				"ask for a role that gives it: placements.cluster.open-cluster-management.io is forbidden: boom",
		},
		"a right is missing in a namespace": {
			apierrors.NewForbidden(resource, "", errBoom), PlacementKind(), "shop",
			"reading placements: the right to list placements.cluster.open-cluster-management.io in the namespace shop is missing; " +
				"ask for a role that gives it: placements.cluster.open-cluster-management.io is forbidden: boom",
		},
		"a right on clusters is missing": {
			apierrors.NewForbidden(resource, "", errBoom), ClusterKind(), "",
			"reading clusters: the right to list managedclusters.cluster.open-cluster-management.io is missing; " +
				"ask for a role that gives it: placements.cluster.open-cluster-management.io is forbidden: boom",
		},
		"unknown credentials": {
			apierrors.NewUnauthorized("who?"), ClusterKind(), "",
			"reading clusters: the hub at https://hub does not accept your credentials; log in again, or use another --context: who?",
		},
		"there is no such API": {
			apierrors.NewNotFound(resource, ""), PlacementKind(), "",
			"reading placements: this hub has no Placement API (cluster.open-cluster-management.io/v1beta1): install Berth's CRDs, " +
				"those in config/crd, or use another --context",
		},
		"anything else": {errBoom, ClusterKind(), "", "reading clusters: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &HubClient{host: "https://hub"}
			if got := h.requestError(tc.err, "list", tc.kind, tc.namespace).Error(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
	if got := (&HubClient{}).requestError(context.Canceled, "list", ClusterKind(), ""); !errors.Is(got, context.Canceled) {
		t.Errorf("got %v for what the user ended", got)
	}
}
