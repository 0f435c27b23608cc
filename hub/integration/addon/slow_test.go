//go:build slow

package addon

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	addonv1beta1 "github.com/berth-project/berth/api/addon/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestNamespacesAreDeletedWithoutTheManager deletes a namespace with an add-on, and the owner of an add-on, while the conversion
// webhook does not answer. The controllers that delete both use the stored version.
func TestNamespacesAreDeletedWithoutTheManager(t *testing.T) {
	s := newTestHub(t)
	manager := s.startManager()
	s.awaitConversion()
	namespace := kit.Namespace("leaving")
	s.AwaitCreated(namespace, &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: "leaving", Name: "search"}})
	owner := kit.ConfigMap("default", "owner")
	s.AwaitCreated(owner)
	owned := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owned"}}
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	s.AwaitCreated(owned)

	manager.Stop()
	beta := &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "late"}}
	if err := s.Create(t.Context(), beta); err == nil {
		t.Error("v1beta1 is stored without a conversion webhook")
	}
	s.MustDelete(namespace, owner)
	s.AwaitGone(namespace)
	s.AwaitGone(owned)
}
