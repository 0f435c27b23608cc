// Package addon tests the kinds of add-ons on a real hub: both versions and their conversion by the manager, namespaces that are
// deleted while no manager runs, the feature labels of clusters, and the health that agents report by Leases.
//
// Each test starts a hub, since the conversion belongs to definitions that all tests would share.
package addon

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	addonv1beta1 "github.com/berth-project/berth/api/addon/v1beta1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

var errNoConversion = errors.New("the manager has not set the conversion")

// testHub is a hub with a client of its administrator.
type testHub struct {
	*kit.Client
	*hubtest.Hub
	t *testing.T
}

func newTestHub(t *testing.T) *testHub {
	t.Helper()
	hub := hubtest.New(t, hubtest.Options{Manifests: config.Registration()})
	return &testHub{kit.New(t, hub), hub, t}
}

// startManager starts a manager with webhooks and the controller of the feature labels.
func (t *testHub) startManager() *hubtest.Manager {
	t.t.Helper()
	return hubtest.StartManager(t.t, t.Hub, hubtest.ManagerOptions{Webhooks: true, Args: []string{"--controllers=*,acceptance,csr,addon"}})
}

// The resources with a conversion.
const (
	managedClusterAddOns    = "managedclusteraddons"
	clusterManagementAddOns = "clustermanagementaddons"
)

// definition returns the definition of a resource.
func (t *testHub) definition(ctx context.Context, resource string) (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	return out, t.Get(ctx, client.ObjectKey{Name: resource + ".addon.open-cluster-management.io"}, out)
}

// awaitStoredConversion waits until the definition of a resource names a webhook with a CA bundle.
func (t *testHub) awaitStoredConversion(resource string) {
	t.t.Helper()
	t.Await("the definition of a resource names a webhook with a CA bundle", func(ctx context.Context) error {
		definition, err := t.definition(ctx, resource)
		if err != nil {
			return err
		}
		if bundle, _, _ := unstructured.NestedString(definition.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle"); bundle ==
			"" {
			return errNoConversion
		}
		return nil
	})
}

// awaitConversion waits until the API server converts add-ons on clusters, shortly after the definition is stored.
func (t *testHub) awaitConversion() {
	t.t.Helper()
	stored := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "first"}}
	stored.Spec.InstallNamespace = "first"
	t.AwaitCreated(stored)
	read := &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: stored.GetNamespace(), Name: stored.GetName()}}
	t.AwaitObject(read, "the API server converts add-ons on clusters, shortly after the definition is stored", func() error {
		if read.Annotations[addonv1alpha1.InstallNamespaceAnnotation] != "first" {
			return errNoConversion
		}
		return nil
	})
}
