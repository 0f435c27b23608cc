// Package registration reports on the hub whether the add-ons of a cluster live, by the Leases that they renew on its member.
//
// It owns condition Available of the ManagedClusterAddOns of one cluster whose health is by Lease, and writes nothing else. It reads one
// Lease by its name for each, and lists none. The invariants: a Lease that was not read changes nothing, and a condition is written only
// when it changes. A clock of the member that is wrong makes no add-on flap. A hub without ManagedClusterAddOns gets fewer and fewer
// requests.
package registration

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
)

var errNoName = errors.New("no name of Kubernetes")

// AddOn is what the agent reads of a ManagedClusterAddOn. It is comparable.
type AddOn struct {
	Name string
	UID  types.UID
	// Namespace is that of its Lease on the member.
	Namespace string
	// ByLease reports whether the agent writes its health: the mode is Lease, and it is not being deleted.
	ByLease bool
	// Health is its condition Available; empty without one.
	Health Health
}

// Health is condition Available of an add-on, without its time.
type Health struct {
	Status          metav1.ConditionStatus
	Reason, Message string
}

// addOnOf returns what the agent reads of an object.
func addOnOf(stored *addonv1alpha1.ManagedClusterAddOn) AddOn {
	mode := cmp.Or(stored.Status.HealthCheck.Mode, addonv1alpha1.HealthCheckModeLease)
	out := AddOn{
		Name: stored.Name, UID: stored.UID,
		Namespace: cmp.Or(stored.Status.Namespace, stored.Spec.InstallNamespace, addonv1alpha1.DefaultInstallNamespace),
		ByLease:   mode == addonv1alpha1.HealthCheckModeLease && stored.DeletionTimestamp.IsZero(),
	}
	if found := meta.FindStatusCondition(stored.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionAvailable); found != nil {
		out.Health = Health{Status: found.Status, Reason: found.Reason, Message: found.Message}
	}
	return out
}

// lease returns how messages name the Lease of the add-on.
func (a AddOn) lease() string { return a.Namespace + "/" + a.Name }

// validate returns an error where the names of the Lease are not names. Both come from the hub, and become a path on the member.
func (a AddOn) validate() error {
	if len(validation.IsDNS1123Subdomain(a.Name)) > 0 {
		return fmt.Errorf("the ManagedClusterAddOn %q has %w", a.Name, errNoName)
	}
	if len(validation.IsDNS1123Label(a.Namespace)) > 0 {
		return fmt.Errorf("the namespace %q of the ManagedClusterAddOn %s is %w", a.Namespace, a.Name, errNoName)
	}
	return nil
}
