// Package permission looks up whether the user of an admission request has further permissions, beyond those that the request itself
// needed.
//
// The invariant: a failed lookup never counts as a permission.
package permission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Permission is a verb on a subresource of one cluster-wide object, as a rule of a ClusterRole grants it.
type Permission struct {
	Verb, Group, Resource, Subresource string
	// Name is the literal resourceName: RBAC has no patterns.
	Name string
}

// String describes a rule that grants the permission.
func (p Permission) String() string {
	return fmt.Sprintf("the verb %q on %q in the API group %q with the resourceName %q", p.Verb, p.Resource+"/"+p.Subresource, p.Group, p.Name)
}

// Checker reports whether a user has the permission for the attributes.
type Checker interface {
	Allowed(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) (bool, error)
}

// SubjectAccessReviewer is a Checker that sends a SubjectAccessReview for each call.
type SubjectAccessReviewer struct {
	Client client.Writer
}

// Allowed implements Checker. The result includes all authorizers of the hub.
func (r SubjectAccessReviewer) Allowed(ctx context.Context, user authenticationv1.UserInfo,
	attributes authorizationv1.ResourceAttributes,
) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra, ResourceAttributes: &attributes,
	}}
	if err := r.Client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("reviewing the access of %q: %w", user.Username, err)
	}
	return review.Status.Allowed && !review.Status.Denied, nil
}

// RequestAuthorizer looks up the permissions of the user of one request. It is safe for concurrent use.
type RequestAuthorizer struct {
	user    authenticationv1.UserInfo
	checker Checker

	mu    sync.Mutex
	known map[Permission]*result
}

// result is the result for one permission once done is closed. A failure is a result too: it fails the request.
type result struct {
	done chan struct{}
	held bool
	err  error
}

// NewRequestAuthorizer returns a Holder for a user. It calls the checker at most once for each permission.
func NewRequestAuthorizer(user authenticationv1.UserInfo, checker Checker) *RequestAuthorizer {
	return &RequestAuthorizer{user: user, checker: checker, known: map[Permission]*result{}}
}

// Name returns the user's name.
func (r *RequestAuthorizer) Name() string { return r.user.Username }

// HasAny reports whether the user has at least one of the permissions. It looks them up in order until one is granted.
func (r *RequestAuthorizer) HasAny(ctx context.Context, oneOf ...Permission) (bool, error) {
	for _, right := range oneOf {
		if held, err := r.lookUp(ctx, right); held || err != nil {
			return held, err
		}
	}
	return false, nil
}

// lookUp looks a permission up, or waits for a lookup that has started.
func (r *RequestAuthorizer) lookUp(ctx context.Context, right Permission) (bool, error) {
	r.mu.Lock()
	known, started := r.known[right]
	if !started {
		known = &result{done: make(chan struct{})}
		r.known[right] = known
	}
	r.mu.Unlock()
	if !started {
		known.held, known.err = r.checker.Allowed(ctx, r.user, right.attributes())
		close(known.done)
	}
	<-known.done
	return known.held && known.err == nil, known.err
}

func (p Permission) attributes() authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: p.Verb, Group: p.Group, Version: "*", Resource: p.Resource, Subresource: p.Subresource, Name: p.Name,
	}
}

// Describe describes alternative permissions: one of them suffices. There must be at least one.
func Describe(oneOf ...Permission) string {
	out := make([]string, 0, len(oneOf))
	for _, right := range slices.Backward(oneOf) {
		out = append(out, right.String())
	}
	return strings.Join(out, ", or ")
}
