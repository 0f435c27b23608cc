package manifest

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

const (
	fieldManager = "berth-hub"
	pollInterval = 50 * time.Millisecond

	definitionGroup = "apiextensions.k8s.io"
	clusterGroup    = "cluster.open-cluster-management.io"

	// decisionTimeout is how long InstallSequentially waits for the decision of one placement, and allDecisionsTimeout for all decisions.
	// A placement that the manager does not decide takes decisionTimeout.
	decisionTimeout     = 5 * time.Second
	allDecisionsTimeout = 20 * time.Second
)

func definitionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: definitionGroup, Version: "v1", Resource: "customresourcedefinitions"}
}

// installer applies objects to one API server.
type installer struct {
	client    dynamic.Interface
	discovery discovery.DiscoveryInterface
	mapper    meta.RESTMapper
}

// InstallSequentially is Install for a hub with a manager. It applies a placement after the previous placement was decided,
// because a decision may depend on the decisions of other placements.
func (b Bundle) InstallSequentially(ctx context.Context, config *rest.Config) error {
	return b.install(ctx, config, allDecisionsTimeout)
}

// Install applies the set and returns when everything in it is stored and every
// custom resource in it is served and listed in discovery.
func (b Bundle) Install(ctx context.Context, config *rest.Config) error {
	return b.install(ctx, config, 0)
}

func (b Bundle) install(ctx context.Context, config *rest.Config, wait time.Duration) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a discovery client: %w", err)
	}
	i := &installer{client: client, discovery: found}
	for _, definition := range b.definitions {
		if err := i.apply(ctx, definition, definitionResource(), ""); err != nil {
			return err
		}
	}
	if err := i.awaitServed(ctx, b.definitions); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for _, o := range b.others {
		if err := i.applyObject(ctx, waiting, o); err != nil {
			return err
		}
	}
	return nil
}

// applyObject applies an object of a kind known to discovery. It waits for decisions until waiting ends.
func (i *installer) applyObject(ctx, waiting context.Context, o object) error {
	kind := o.GroupVersionKind()
	mapping, err := i.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return fmt.Errorf("applying %s: %w", o, err)
	}
	namespace := o.GetNamespace()
	if namespace == "" && mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace = metav1.NamespaceDefault
	}
	if waiting.Err() == nil && o.GroupVersionKind().Group == clusterGroup && o.GetKind() == "Placement" {
		return i.applyPlacement(ctx, waiting, o, mapping.Resource, namespace)
	}
	if !o.isStatus() {
		return i.apply(ctx, o, mapping.Resource, namespace)
	}
	_, err = i.client.Resource(mapping.Resource).Namespace(namespace).Get(ctx, o.GetName(), metav1.GetOptions{})
	created := apierrors.IsNotFound(err)
	if err != nil && !created {
		return fmt.Errorf("reading %s: %w", o, err)
	}
	if err := i.apply(ctx, o, mapping.Resource, namespace); err != nil || !created {
		return err
	}
	return i.applyStatus(ctx, o, mapping.Resource, namespace)
}

// isStatus returns whether the manifest contains the report of a cluster: the status of a ManagedCluster, or a score.
// Installing it replaces the report of an agent. An existing object keeps its status, because its agent may have updated it.
func (o object) isStatus() bool {
	_, has := o.Object["status"]
	kind := o.GroupVersionKind()
	return has && kind.Group == clusterGroup && (kind.Kind == "ManagedCluster" || kind.Kind == "AddOnPlacementScore")
}

// applyPlacement applies a placement and waits until its conditions are of the stored generation, until decisionTimeout has passed, or
// until waiting ends.
func (i *installer) applyPlacement(ctx, waiting context.Context, o object, resource schema.GroupVersionResource, namespace string) error {
	if err := i.apply(ctx, o, resource, namespace); err != nil {
		return err
	}
	seen := 0 // twice, because other placements read a decision a moment after it is stored
	err := wait.PollUntilContextTimeout(waiting, pollInterval, decisionTimeout, true, func(ctx context.Context) (bool, error) {
		stored, err := i.client.Resource(resource).Namespace(namespace).Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, fmt.Errorf("reading %s: %w", o, err)
		}
		conditions, _, err := unstructured.NestedSlice(stored.Object, "status", "conditions")
		for _, c := range conditions {
			if condition, _ := c.(map[string]any); condition["observedGeneration"] == stored.GetGeneration() {
				seen++
				return seen == 2, err
			}
		}
		return false, err
	})
	if ctx.Err() == nil && (wait.Interrupted(err) || waiting.Err() != nil) {
		err = nil
	}
	return err
}

func (i *installer) applyStatus(ctx context.Context, o object, resource schema.GroupVersionResource, namespace string) error {
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if _, err := i.client.Resource(resource).Namespace(namespace).ApplyStatus(ctx, o.GetName(), o.Unstructured, options); err != nil {
		return fmt.Errorf("applying the status of %s: %w", o, err)
	}
	return nil
}

func (i *installer) apply(ctx context.Context, o object, resource schema.GroupVersionResource, namespace string) error {
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	_, err := i.client.Resource(resource).Namespace(namespace).Apply(ctx, o.GetName(), o.Unstructured, options)
	if err != nil {
		return fmt.Errorf("applying %s: %w", o, err)
	}
	return nil
}

// awaitServed waits until the API server has accepted the definitions and
// discovery resolves every version they serve. Being established is not enough:
// discovery follows a moment later.
func (i *installer) awaitServed(ctx context.Context, definitions []object) error {
	var pending error
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		pending = i.checkServed(ctx, definitions)
		return pending == nil, permanentError(pending)
	})
	if err != nil && pending != nil {
		return fmt.Errorf("waiting for custom resources to be served: %w: %w", err, pending)
	}
	return err
}

// checkServed returns an error while a definition is not served, and refreshes the mapper. It leaves out definitions that are being
// deleted.
func (i *installer) checkServed(ctx context.Context, definitions []object) error {
	var staying []object
	for _, definition := range definitions {
		current, err := i.client.Resource(definitionResource()).Get(ctx, definition.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && current.GetDeletionTimestamp() != nil {
			continue // it was being deleted before it was applied
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", definition, err)
		}
		staying = append(staying, definition)
		if err := established(current); err != nil {
			return fmt.Errorf("%s: %w", definition, err)
		}
	}
	groups, err := restmapper.GetAPIGroupResources(i.discovery)
	if err != nil {
		return fmt.Errorf("discovering resources: %w", err)
	}
	i.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	for _, definition := range staying {
		if err := i.checkDiscovery(definition); err != nil {
			return err
		}
	}
	return nil
}

// checkDiscovery returns an error while discovery lacks a version of the definition.
func (i *installer) checkDiscovery(definition object) error {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if version["served"] != true {
			continue
		}
		name, _ := version["name"].(string)
		if _, err := i.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind}, name); err != nil {
			return fmt.Errorf("discovering %s: %w", definition, err)
		}
	}
	return nil
}

// String names the object and its file.
func (o object) String() string {
	name := o.GetName()
	if namespace := o.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%s %s from %s", o.GetKind(), name, o.file)
}

// permanentError returns an error that retries cannot fix, or nil.
func permanentError(err error) error {
	var refused *nameConflictError
	if errors.As(err, &refused) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return err
	}
	return nil
}
