package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	viewv1 "github.com/berth-project/berth/api/view/v1"
	"github.com/berth-project/berth/internal/manager"
)

const (
	pollInterval = 25 * time.Millisecond
	// probePrefix begins the names of objects that are never stored, because their requests are dry runs. reservedProbePrefix
	// begins a reserved name, which the policies refuse.
	probePrefix         = "probe-of-berth-hub-"
	reservedProbePrefix = "berth-hub-probe-"
)

var (
	errDefault   = errors.New("clusters are stored without the default set")
	errUnchecked = errors.New("wrong sets are stored")
	errUnguarded = errors.New("clusters with reserved names are stored")
	errUndecided = errors.New("it is not decided whether clusters that never joined are tainted")
)

// awaitServing returns once the API server calls the webhooks and the views of the manager. The API server acts on a
// registration with a delay, so awaitServing sends requests that only the manager can answer.
func awaitServing(ctx context.Context, admin *rest.Config, serves manager.EnabledServers) error {
	client, err := dynamic.NewForConfig(admin)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	probes := []func(context.Context, dynamic.Interface) error{checkPolicies}
	if serves.Webhooks {
		probes = append(probes, checkDefaulting, checkValidation)
	}
	if serves.Webhooks && serves.TaintsUnjoined {
		probes = append(probes, checkUnjoinedTainting)
	}
	if serves.Views {
		probes = append(probes, checkViews)
	}
	for _, ask := range probes {
		var pending error
		err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
			err := ask(ctx, client)
			if err == nil || pending == nil || ctx.Err() == nil { // otherwise the request was canceled, and the earlier error is the cause
				pending = err
			}
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), pending)
		}
	}
	return nil
}

// checkDefaulting returns nil if the API server calls the webhook that completes clusters.
func checkDefaulting(ctx context.Context, client dynamic.Interface) error {
	stored, err := dryRun(ctx, client, clusterv1.SchemeGroupVersion.WithResource("managedclusters"), "ManagedCluster", probePrefix, nil)
	if err != nil {
		return fmt.Errorf("checking the default set: %w", err)
	}
	if stored.GetLabels()[clusterv1beta2.ClusterSetLabel] != clusterv1beta2.DefaultClusterSetName {
		return errDefault
	}
	return nil
}

// checkValidation returns nil if the API server calls the webhook that validates sets. The request has an invalid label key,
// which the CRD accepts.
func checkValidation(ctx context.Context, client dynamic.Interface) error {
	spec := map[string]any{"clusterSelector": map[string]any{
		"selectorType": string(clusterv1beta2.LabelSelector), "labelSelector": map[string]any{"matchLabels": map[string]any{"no key": ""}},
	}}
	_, err := dryRun(ctx, client, clusterv1beta2.SchemeGroupVersion.WithResource("managedclustersets"), "ManagedClusterSet", probePrefix, spec)
	switch {
	case apierrors.IsInvalid(err):
		return nil
	case err == nil:
		return errUnchecked
	default:
		return fmt.Errorf("checking the validation: %w", err)
	}
}

// checkPolicies returns nil if the API server enforces the installed admission policies.
func checkPolicies(ctx context.Context, client dynamic.Interface) error {
	_, err := dryRun(ctx, client, clusterv1.SchemeGroupVersion.WithResource("managedclusters"), "ManagedCluster", reservedProbePrefix, nil)
	switch {
	case apierrors.IsInvalid(err):
		return nil
	case err == nil:
		return errUnguarded
	default:
		return fmt.Errorf("checking the policy on reserved names: %w", err)
	}
}

// checkUnjoinedTainting returns nil once the set global has the condition for tainting at creation.
func checkUnjoinedTainting(ctx context.Context, client dynamic.Interface) error {
	global, err := client.Resource(clusterv1beta2.SchemeGroupVersion.WithResource("managedclustersets")).
		Get(ctx, clusterv1beta2.GlobalClusterSetName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the set %s: %w", clusterv1beta2.GlobalClusterSetName, err)
	}
	set := &clusterv1beta2.ManagedClusterSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(global.Object, set); err != nil {
		return fmt.Errorf("reading the set %s: %w", clusterv1beta2.GlobalClusterSetName, err)
	}
	if meta.FindStatusCondition(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionUnjoinedTainted) == nil {
		return errUndecided
	}
	return nil
}

// checkViews returns nil if the API server proxies requests to the views.
func checkViews(ctx context.Context, client dynamic.Interface) error {
	_, err := client.Resource(viewv1.SchemeGroupVersion.WithResource("managedclustersets")).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("reading the views: %w", err)
	}
	return nil
}

func dryRun(
	ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, kind, prefix string, spec map[string]any,
) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion(resource.GroupVersion().String())
	object.SetKind(kind)
	object.SetGenerateName(prefix)
	if spec != nil {
		object.Object["spec"] = spec
	}
	return client.Resource(resource).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}
