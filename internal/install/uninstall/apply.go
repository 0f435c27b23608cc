package uninstall

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/apply"
)

// NewClient returns a client for the kinds that this package reads and writes.
func NewClient(restConfig *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apiextensionsv1.AddToScheme, clusterv1.AddToScheme, coordinationv1.AddToScheme, rbacv1.AddToScheme, workv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	out, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client of the hub: %w", err)
	}
	return out, nil
}

// Apply executes one step. A change since the object was read is a conflict. A missing object is not an error.
func Apply(ctx context.Context, hub client.Client, step Step) error {
	var err error
	before, ok := step.Object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copying %s %s: it is a %T", step.Kind, step.Object.GetName(), step.Object)
	}
	patch := apply.Fenced(before)
	switch step.Verb {
	case Delete:
		uid := step.Object.GetUID()
		err = hub.Delete(ctx, step.Object, client.Preconditions{UID: &uid})
	case StopConversion:
		if definition, isDefinition := step.Object.(*apiextensionsv1.CustomResourceDefinition); isDefinition {
			definition.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
		}
		err = hub.Patch(ctx, step.Object, patch)
	case RemoveFinalizers:
		for _, finalizer := range step.finalizers {
			controllerutil.RemoveFinalizer(step.Object, finalizer)
		}
		err = hub.Patch(ctx, step.Object, patch)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	return nil
}
