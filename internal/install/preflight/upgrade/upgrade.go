// Package upgrade owns the check whether Berth may take over a hub of Open Cluster Management, with the registration of clusters. It
// finds what still runs there, what is missing and what conflicts.
//
// It changes nothing on the hub. The invariant: a failed read is an error, and never a hub without findings.
package upgrade

import (
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// Finding is one thing on a hub that the takeover has to consider.
type Finding struct {
	// Object names it.
	Object string `json:"object"`
	// Message is what it is, and what follows.
	Message string `json:"message"`
	// Remedy is what to do, often a command.
	Remedy string `json:"remedy"`
	// Cause is why a step is left or a note is made.
	Cause Cause `json:"-"`
}

// Cause is why a step is left before Berth may start.
type Cause int

const (
	// CauseHub is something on the hub that an administrator has to decide.
	CauseHub Cause = iota
	// CauseInstallation is what an installation of Berth brings: definitions and permissions.
	CauseInstallation
	// CauseController is a controller of Open Cluster Management that is not off.
	CauseController
)

// Report is the result of a check.
type Report struct {
	// Steps are what to do before Berth starts, in this order. Empty: Berth may start.
	Steps []Finding `json:"steps"`
	// Notes are what stays as it is, and what to consider.
	Notes []Finding `json:"notes"`
	// ForeignNamespaces have the names of clusters, and are not labelled as theirs.
	ForeignNamespaces []string `json:"foreignNamespaces"`
	// Stragglers are the clusters whose agents a change of the hub's CA may cut off.
	Stragglers []registration.Straggler `json:"stragglers"`
}

// step adds what has to be done before Berth starts.
func (r *Report) step(cause Cause, object, message, remedy string) {
	r.Steps = append(r.Steps, Finding{object, message, remedy, cause})
}

func (r *Report) note(object, message, remedy string) {
	r.Notes = append(r.Notes, Finding{Object: object, Message: message, Remedy: remedy})
}

// Kinds returns the functions that register the kinds which Check reads.
func Kinds() []func(*runtime.Scheme) error {
	return []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, apiextensionsv1.AddToScheme, appsv1.AddToScheme, authorizationv1.AddToScheme,
		coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme, clusterv1.AddToScheme,
	}
}

// NewClient returns a client of a hub for the kinds that Check reads. It sends no request.
func NewClient(config *rest.Config) (client.Client, error) {
	kinds := runtime.NewScheme()
	for _, add := range Kinds() {
		if err := add(kinds); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	out, err := client.New(config, client.Options{Scheme: kinds})
	if err != nil {
		return nil, fmt.Errorf("making a client of the hub: %w", err)
	}
	return out, nil
}

// Check reads a hub and returns what to do before Berth starts there with its controllers of registration. The controllers to turn off
// come last, because nothing is decided from then on until Berth runs.
func Check(ctx context.Context, hub client.Client, now time.Time) (Report, error) {
	c := &check{hub: hub, now: now, report: Report{
		Steps: []Finding{}, Notes: []Finding{}, ForeignNamespaces: []string{},
		Stragglers: []registration.Straggler{},
	}}
	for _, part := range []func(context.Context) error{c.definitions, c.permissions, c.clusters, c.conversions, c.webhooks, c.controllers} {
		if err := part(ctx); err != nil {
			return Report{}, err
		}
	}
	return c.report, nil
}

// check is one check of a hub.
type check struct {
	hub    client.Client
	now    time.Time
	report Report
}
