// Package guard owns the list of ClusterRoles that rely on an admission guard: a ValidatingAdmissionPolicy or a webhook of the
// manager. It reports the roles that exist on the hub without their guard.
//
// It refuses and changes nothing. The invariant: a guard that cannot be read is reported as an error, never as in force.
package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// The policies that config installs.
const (
	// SetAdmins limits what the admin role of a cluster set allows.
	SetAdmins = "berth-set-admins"
	// Agents limits what the roles of agents and bootstrap users allow.
	Agents = "berth-agents"

	agentRoles        = "berth-agent-roles"
	clusterNamespaces = "berth-cluster-namespaces"

	bindings = "berth-bindings"
	setRoles = "berth-set-roles"
	// setExecutors limits what the author of a set of works makes agents do.
	setExecutors = "berth-set-executors"
	// rolloutUsers makes users decide on rollouts in their own name.
	rolloutUsers = "berth-rollout-users"
	// webhooks is the name of the configurations that the manager stores.
	webhooks       = "berth"
	bindingWebhook = "managedclustersetbindings.cluster.open-cluster-management.io"
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,resourceNames=berth-agent-roles;berth-agents;berth-bindings;berth-cluster-namespaces;berth-rollout-users;berth-set-executors;berth-set-roles;berth-set-admins,verbs=get
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=berth,verbs=get

// Unguarded is a role on the hub without its guard.
type Unguarded struct {
	// Role is the name of the role, or a pattern for several roles.
	Role string
	// Risk is what holders of the role may do. Remedy is what to do about it.
	Risk, Remedy string
}

// String returns one line for logs and pages.
func (u Unguarded) String() string {
	return fmt.Sprintf("the ClusterRole %s is not guarded: %s; %s", u.Role, u.Risk, u.Remedy)
}

// guardedRole is a role that relies on a guard. Either the policy or the webhook is enough; "" means that the role has no
// such guard.
type guardedRole struct {
	role string
	// level selects the roles of sets by their label. If it is empty, labelKey selects the roles with this label. If that is empty too,
	// the role is found by its name.
	level, labelKey string
	policy, webhook string
	// label is what the conditions of the policy and of the webhook must mention; empty for any conditions.
	label        string
	risk, remedy string
}

func guardedRoles() []guardedRole {
	return []guardedRole{
		{
			role: "berth:placement:editor", policy: bindings, webhook: bindingWebhook, label: clusterv1beta2.MadeByLabel,
			risk: "editors of a namespace may bind any cluster set to it", remedy: "apply config/roles",
		},
		{
			role: "berth:delivery:editor", policy: setExecutors, webhook: "manifestworkreplicasets.work.open-cluster-management.io",
			risk: "its holders may run anything on the clusters that their placements select", remedy: "apply config/roles",
		},
		{
			role: "berth:rollout:operator", policy: rolloutUsers,
			risk: "its holders may decide on rollouts in the name of other users, so that events do not name the user", remedy: "apply config/roles",
		},
		{
			role: "berth:managedcluster:creator", webhook: "managedclusters.cluster.open-cluster-management.io",
			risk:   "its holders may put clusters into any set and accept them",
			remedy: "run the manager with --webhook-bind-address, or delete the role",
		},
		{
			role: "berth:managedclusterset:admin:*", level: "admin", policy: SetAdmins,
			risk: "it gives no access to the clusters of its set", remedy: "apply config/manager",
		},
		{
			role: "berth:managedclusterset:binder:*", level: "binder", policy: setRoles,
			risk:   "users who may write ClusterRoles may empty one, bind it, and wait until the manager fills it",
			remedy: "apply config/manager",
		},
		{
			role: "open-cluster-management:managedcluster:*", labelKey: clusterv1.ClusterNameLabelKey, policy: Agents,
			risk:   "an agent may label its cluster into the placements of other teams, taint it, and change what the hub reports on it",
			remedy: "apply config/manager",
		},
		{
			role: "berth:namespace-inventory", policy: agentRoles,
			risk: "users who may write ClusterRoles or bindings may bind it or the role of a cluster while it is empty, and wait " +
				"until the manager fills it",
			remedy: "apply config/registration",
		},
		{
			role: "berth:agent-account", policy: clusterNamespaces,
			risk:   "users who may label their namespace give the agent of a cluster of its name access to it",
			remedy: "apply config/registration",
		},
	}
}

// Roles returns the names of the reported roles.
func Roles() []string {
	var out []string
	for _, reliance := range guardedRoles() {
		out = append(out, reliance.role)
	}
	slices.Sort(out)
	return out
}

// Check returns the roles on the hub without their guard. serving is set if this manager registers its webhooks, so that
// they count before the API server has them. roles may read from a cache.
func Check(ctx context.Context, roles, hub client.Reader, serving bool) ([]Unguarded, error) {
	var out []Unguarded
	var faults []error
	for _, reliance := range guardedRoles() {
		unguarded, err := reliance.unguarded(ctx, roles, hub, serving)
		if err != nil {
			faults = append(faults, fmt.Errorf("checking the guard of ClusterRole %s: %w", reliance.role, err))
		}
		if unguarded {
			out = append(out, Unguarded{Role: reliance.role, Risk: reliance.risk, Remedy: reliance.remedy})
		}
	}
	return out, errors.Join(faults...)
}

func (r guardedRole) unguarded(ctx context.Context, roles, hub client.Reader, serving bool) (bool, error) {
	there, err := r.exists(ctx, roles)
	if err != nil || !there {
		return false, err
	}
	if r.policy != "" {
		if holds, err := policyInForce(ctx, hub, r.policy, r.label); err != nil || holds {
			return false, err
		}
	}
	if r.webhook == "" {
		return true, nil
	}
	holds, err := webhookInForce(ctx, hub, r.webhook, r.label)
	return err == nil && !holds && !serving, err
}

func (r guardedRole) exists(ctx context.Context, roles client.Reader) (bool, error) {
	var selectors []client.ListOption
	switch {
	case r.level != "":
		selectors = []client.ListOption{
			client.MatchingLabels{clusterv1beta2.SetRoleLabel: r.level}, client.MatchingLabels{clusterv1beta2.DeprecatedSetRoleLabel: r.level},
		}
	case r.labelKey != "":
		selectors = []client.ListOption{client.HasLabels{r.labelKey}}
	default:
		return exists(roles.Get(ctx, client.ObjectKey{Name: r.role}, &rbacv1.ClusterRole{}))
	}
	for _, selector := range selectors {
		list := &rbacv1.ClusterRoleList{}
		if err := roles.List(ctx, list, selector, client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
			return false, fmt.Errorf("listing ClusterRoles: %w", err)
		}
		if len(list.Items) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// GrantLabelGuarded reports whether a policy or a webhook on the hub limits who may change the label of a granted binding.
func GrantLabelGuarded(ctx context.Context, hub client.Reader) (bool, error) {
	if guarded, err := policyInForce(ctx, hub, bindings, clusterv1beta2.MadeByLabel); err != nil || guarded {
		return guarded, err
	}
	return webhookInForce(ctx, hub, bindingWebhook, clusterv1beta2.MadeByLabel)
}

// policyInForce reports whether a ValidatingAdmissionPolicy is on the hub, fails closed, mentions a label in its conditions, and
// is bound so that it denies. The binding has the name of the policy, as those in config have.
func policyInForce(ctx context.Context, hub client.Reader, name, label string) (bool, error) {
	policy := &admissionv1.ValidatingAdmissionPolicy{}
	if there, err := exists(hub.Get(ctx, client.ObjectKey{Name: name}, policy)); err != nil || !there {
		return false, err
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
	if there, err := exists(hub.Get(ctx, client.ObjectKey{Name: name}, binding)); err != nil || !there {
		return false, err
	}
	closed := policy.Spec.FailurePolicy == nil || *policy.Spec.FailurePolicy == admissionv1.Fail
	return closed && len(policy.Spec.Validations) > 0 && mentions(policy.Spec.MatchConditions, label) && binding.Spec.PolicyName == name &&
		binding.Spec.MatchResources == nil &&
		slices.Contains(binding.Spec.ValidationActions, admissionv1.Deny), nil
}

func webhookInForce(ctx context.Context, hub client.Reader, name, label string) (bool, error) {
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	if there, err := exists(hub.Get(ctx, client.ObjectKey{Name: webhooks}, configuration)); err != nil || !there {
		return false, err
	}
	return slices.ContainsFunc(configuration.Webhooks, func(webhook admissionv1.ValidatingWebhook) bool {
		return webhook.Name == name && mentions(webhook.MatchConditions, label) &&
			(webhook.FailurePolicy == nil || *webhook.FailurePolicy == admissionv1.Fail)
	}), nil
}

// mentions returns whether a condition mentions a label.
func mentions(conditions []admissionv1.MatchCondition, label string) bool {
	return label == "" || slices.ContainsFunc(conditions, func(c admissionv1.MatchCondition) bool {
		return strings.Contains(c.Expression, "'"+label+"'")
	})
}

func exists(err error) (bool, error) {
	return err == nil, client.IgnoreNotFound(err)
}
