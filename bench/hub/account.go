package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	accountNamespace = "default"
	tokenSeconds     = 24 * 60 * 60
	pollInterval     = 20 * time.Millisecond
)

// Account creates a service account with the permissions of the rules, in every namespace. It returns the client configuration
// of the account once the API server enforces the rules.
func (h *Hub) Account(ctx context.Context, name string, rules ...rbacv1.PolicyRule) (*rest.Config, error) {
	meta := metav1.ObjectMeta{Name: name}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: accountNamespace, Name: name}},
	}
	_, accountErr := h.clients.CoreV1().ServiceAccounts(accountNamespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta},
		metav1.CreateOptions{})
	_, roleErr := h.clients.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	_, bindingErr := h.clients.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err := errors.Join(accountErr, roleErr, bindingErr); err != nil {
		return nil, fmt.Errorf("making the account %s: %w", name, err)
	}
	config, err := h.token(ctx, accountNamespace, name)
	if err != nil {
		return nil, err
	}
	return config, h.awaitRules(ctx, config, rules)
}

// token returns a client configuration for a service account.
func (h *Hub) token(ctx context.Context, namespace, name string) (*rest.Config, error) {
	seconds := int64(tokenSeconds)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := h.clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("requesting a token of %s: %w", name, err)
	}
	out := rest.AnonymousClientConfig(h.config)
	out.BearerToken, out.QPS = answer.Status.Token, -1
	return out, nil
}

// awaitRules returns once the authorizer enforces the rules.
func (h *Hub) awaitRules(ctx context.Context, config *rest.Config, rules []rbacv1.PolicyRule) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("reaching the hub: %w", err)
	}
	for _, rule := range rules {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: attributes(rule),
		}}
		err := wait.PollUntilContextTimeout(ctx, pollInterval, startTimeout, true, func(ctx context.Context) (bool, error) {
			answer, err := clients.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed, err
		})
		if err != nil {
			return fmt.Errorf("waiting for the permissions of an account: %w", err)
		}
	}
	return nil
}

// attributes returns the attributes of one request that a rule allows.
func attributes(rule rbacv1.PolicyRule) *authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	out := &authorizationv1.ResourceAttributes{Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: subresource}
	if len(rule.ResourceNames) > 0 {
		out.Name = rule.ResourceNames[0]
	}
	return out
}
