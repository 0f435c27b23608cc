package main

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"

	"github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/internal/manager"
)

const testTimeout = 120 * time.Second

// TestReady checks a hub whose manager provides one service after the other.
func TestReady(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manifests: apiserver.Local()})
	client, err := dynamic.NewForConfig(hub.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := checkDefaulting(t.Context(), client); !errors.Is(err, errDefault) {
		t.Errorf("without a manager, clusters: %v, want %v", err, errDefault)
	}
	if err := checkValidation(t.Context(), client); !errors.Is(err, errUnchecked) {
		t.Errorf("without a manager, sets: %v, want %v", err, errUnchecked)
	}
	if err := checkViews(t.Context(), client); !apierrors.IsNotFound(err) {
		t.Errorf("without a manager, views: %v, want none", err)
	}

	guard := hubtest.StartManager(t, hub, hubtest.ManagerOptions{Webhooks: true})
	hubtest.Eventually(t, testTimeout, func(ctx context.Context) error {
		return errors.Join(checkDefaulting(ctx, client), checkValidation(ctx, client))
	})
	if err := checkViews(t.Context(), client); !apierrors.IsNotFound(err) {
		t.Errorf("with webhooks alone, views: %v, want none", err)
	}
	guard.Stop()
	for what, err := range map[string]error{"clusters": checkDefaulting(t.Context(), client), "sets": checkValidation(t.Context(), client)} {
		if !apierrors.IsInternalError(err) {
			t.Errorf("with stopped webhooks, %s: %v, want them refused", what, err)
		}
	}

	address := hubtest.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	hubtest.StartManager(t, hub, hubtest.ManagerOptions{
		Webhooks: true, Args: []string{"--view-bind-address=" + address, "--view-service-port=" + port},
	})
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := awaitServing(ctx, hub.Config(), manager.EnabledServers{Webhooks: true, Views: true}); err != nil {
		t.Fatal(err)
	}
	for what, ask := range map[string]func(context.Context, dynamic.Interface) error{
		"clusters": checkDefaulting, "sets": checkValidation,
		"views": checkViews,
	} {
		if err := ask(t.Context(), client); err != nil {
			t.Errorf("once ready, %s: %v", what, err)
		}
	}
}

// TestNotReadyInTime checks that the error contains the missing service.
func TestNotReadyInTime(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{})
	client, err := dynamic.NewForConfig(hub.Config())
	if err != nil {
		t.Fatal(err)
	}
	hubtest.Eventually(t, testTimeout, func(ctx context.Context) error { return checkPolicies(ctx, client) }) // what comes first is there
	cause := errors.New("timeout")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, cause)
	defer cancel()
	if err := awaitServing(ctx, hub.Config(), manager.EnabledServers{Webhooks: true, Views: true}); !errors.Is(err, cause) ||
		!errors.Is(err, errDefault) {
		t.Errorf("awaitService = %v, want %v and %v", err, cause, errDefault)
	}
}
