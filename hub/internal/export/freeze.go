package export

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// freezeName is the name of the policy that refuses writes on a hub that has moved.
const freezeName = "berth-hub-moved"

// freeze refuses changes of what a hub decides and delivers, so that no user writes to a hub that has moved. Reports of agents, annotations
// and dry runs pass.
func freeze(ctx context.Context, hub kubernetes.Interface, url string) error {
	policies, bindings := hub.AdmissionregistrationV1().ValidatingAdmissionPolicies(),
		hub.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	_, err := policies.Create(ctx, freezePolicy(url), metav1.CreateOptions{FieldManager: fieldManager})
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = bindings.Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: freezeName},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        freezeName,
				ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		}, metav1.CreateOptions{FieldManager: fieldManager})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the policy %s on the hub: %w", freezeName, err)
	}
	return nil
}

func freezePolicy(url string) *admissionregistrationv1.ValidatingAdmissionPolicy {
	fail, forbidden := admissionregistrationv1.Fail, metav1.StatusReasonForbidden
	return &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: freezeName},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{
						admissionregistrationv1.Create, admissionregistrationv1.Update,
						admissionregistrationv1.Delete,
					},
					Rule: admissionregistrationv1.Rule{
						APIGroups:   []string{clusterv1.GroupName, workv1.SchemeGroupVersion.Group, addonv1alpha1.GroupVersion.Group},
						APIVersions: []string{"*"}, Resources: []string{"*"},
					},
				},
			}}},
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "another-user-than-an-agent", Expression: "!request.userInfo.?groups.orValue([]).exists(group, group == '" +
					registration.AgentsGroup + "') && " +
					"!request.userInfo.username.matches('^system:serviceaccount:[^:]+:" + registration.AgentAccount + "$')"},
				{Name: "what-is-decided-or-delivered-changes", Expression: "!request.?dryRun.orValue(false) && (request.operation != 'UPDATE' || " +
					"object.?spec != oldObject.?spec || object.?metadata.?labels != oldObject.?metadata.?labels)"},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "false", Reason: &forbidden,
				Message: "this hub has moved to " + url + ", and only hands over its agents: write there",
			}},
		},
	}
}
