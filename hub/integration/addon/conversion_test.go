package addon

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	addonv1beta1 "github.com/berth-project/berth/api/addon/v1beta1"
)

// registrations are two identities. v1alpha1 does not have their types.
func registrations() []addonv1beta1.RegistrationConfig {
	return []addonv1beta1.RegistrationConfig{
		{Type: addonv1beta1.KubeClient, KubeClient: &addonv1beta1.KubeClientConfig{
			Driver:  "csr",
			Subject: addonv1beta1.KubeClientSubject{User: "search", Groups: []string{"readers"}},
		}},
		{Type: addonv1beta1.CustomSigner, CustomSigner: &addonv1beta1.CustomSignerConfig{
			SignerName: "example.com/signer",
			Subject:    addonv1beta1.Subject{User: "search", OrganizationUnits: []string{"unit"}},
		}},
	}
}

// TestAClientOfEitherVersionReadsBackWhatItWrote writes with both versions by turns, spec and status.
func TestAClientOfEitherVersionReadsBackWhatItWrote(t *testing.T) {
	s := newTestHub(t)
	s.startManager()
	s.awaitConversion()
	namespace := s.Namespace(t)

	beta := &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "search"}}
	beta.Annotations = map[string]string{addonv1alpha1.InstallNamespaceAnnotation: "search-agent"}
	s.AwaitCreated(beta)
	beta.Status.Registrations = registrations()
	s.MustUpdateStatus(beta)

	alpha := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "search"}}
	s.MustRead(alpha)
	if alpha.Spec.InstallNamespace != "search-agent" {
		t.Errorf("v1alpha1 has the namespace %q", alpha.Spec.InstallNamespace)
	}
	var signers []string
	for _, registration := range alpha.Status.Registrations {
		signers = append(signers, registration.SignerName)
	}
	if diff := cmp.Diff([]string{"kubernetes.io/kube-apiserver-client", "example.com/signer"}, signers); diff != "" {
		t.Errorf("the signers in v1alpha1 (-want +got):\n%s", diff)
	}

	t.Log("a client of v1alpha1 that changes other fields keeps those of v1beta1")
	alpha.Spec.InstallNamespace = "other"
	s.MustUpdate(alpha)
	alpha.Status.Conditions = []metav1.Condition{{
		Type: "Available", Status: metav1.ConditionTrue, Reason: "Test",
		LastTransitionTime: metav1.Now(),
	}}
	s.MustUpdateStatus(alpha)
	s.MustRead(beta)
	if diff := cmp.Diff(registrations(), beta.Status.Registrations); diff != "" {
		t.Errorf("the registrations in v1beta1 (-want +got):\n%s", diff)
	}
	if got := beta.Annotations[addonv1alpha1.InstallNamespaceAnnotation]; got != "other" || len(beta.Status.Conditions) != 1 {
		t.Errorf("v1beta1 has the namespace %q and the conditions %v", got, beta.Status.Conditions)
	}
}

// TestDefaultConfigsHaveTwoNames reads the default configurations of an add-on in both versions.
func TestDefaultConfigsHaveTwoNames(t *testing.T) {
	s := newTestHub(t)
	s.startManager()
	group := addonv1alpha1.ConfigGroupResource{Group: addonv1alpha1.GroupVersion.Group, Resource: "addondeploymentconfigs"}
	referent := addonv1alpha1.ConfigReferent{Namespace: "default", Name: "settings"}
	alpha := &addonv1alpha1.ClusterManagementAddOn{ObjectMeta: metav1.ObjectMeta{Name: "search"}}
	alpha.Spec.SupportedConfigs = []addonv1alpha1.ConfigMeta{{ConfigGroupResource: group, DefaultConfig: &referent}}
	s.AwaitCreated(alpha)

	beta := &addonv1beta1.ClusterManagementAddOn{ObjectMeta: metav1.ObjectMeta{Name: "search"}}
	want := []addonv1alpha1.AddOnConfig{{ConfigGroupResource: group, ConfigReferent: referent}}
	s.AwaitObject(beta, "both default configurations are in v1beta1", func() error {
		if diff := cmp.Diff(want, beta.Spec.DefaultConfigs); diff != "" {
			return fmt.Errorf("the default configurations in v1beta1 (-want +got):\n%s", diff)
		}
		return nil
	})
}

// TestTheConversionOfAnotherProductStays starts a manager on a hub whose definition has a conversion already.
func TestTheConversionOfAnotherProductStays(t *testing.T) {
	s := newTestHub(t)
	foreign := `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],` +
		`"clientConfig":{"service":{"namespace":"open-cluster-management-hub","name":"cluster-manager-addon-webhook","path":"/convert"}}}}}}`
	definition, err := s.definition(t.Context(), managedClusterAddOns)
	if err != nil {
		t.Fatal(err)
	}
	s.MustMerge(definition, foreign)
	want, _, _ := unstructured.NestedMap(definition.Object, "spec", "conversion")

	s.startManager()
	// The other definition has no conversion, so that the manager sets it after it has skipped this one.
	s.awaitStoredConversion(clusterManagementAddOns)
	if definition, err = s.definition(t.Context(), managedClusterAddOns); err != nil {
		t.Fatal(err)
	}
	got, _, _ := unstructured.NestedMap(definition.Object, "spec", "conversion")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the conversion changed (-want +got):\n%s", diff)
	}
}
