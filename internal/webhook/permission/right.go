// Package right owns the question "may this user do that", as admission asks it: about rights beyond those that the
// request itself needed. It refuses to know why somebody asks.
//
// The invariant: a right that could not be looked up is never taken for one that the user has.
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
	// Name is the resourceName, taken literally: RBAC knows no patterns.
	Name string
}

// String says how a rule has to grant the right.
func (r Permission) String() string {
	return fmt.Sprintf("the verb %q on %q in the API group %q with the resourceName %q", r.Verb, r.Resource+"/"+r.Subresource, r.Group, r.Name)
}

// Checker tells whether a user has the right to do what the attributes say.
type Checker interface {
	Allowed(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) (bool, error)
}

// SubjectAccessReviewer is the Checker that asks the API server, with a SubjectAccessReview each time.
type SubjectAccessReviewer struct {
	Client client.Writer
}

// Allowed implements Checker. Whatever authorizers the hub has take part in the answer.
func (r SubjectAccessReviewer) Allowed(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) (bool, error) {
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

// RequestAuthorizer is who made a request, for the time of that request. It is safe for concurrent use.
type RequestAuthorizer struct {
	user    authenticationv1.UserInfo
	checker Checker

	mu    sync.Mutex
	known map[Permission]*result
}

// result is what is known about one right once done is closed. A failure is an answer too: with it, the request fails.
type result struct {
	done chan struct{}
	held bool
	err  error
}

// NewRequestAuthorizer returns the holder of a user's rights. It asks the checker about each right at most once.
func NewRequestAuthorizer(user authenticationv1.UserInfo, checker Checker) *RequestAuthorizer {
	return &RequestAuthorizer{user: user, checker: checker, known: map[Permission]*result{}}
}

// Name returns the user's name.
func (h *RequestAuthorizer) Name() string { return h.user.Username }

// HasAny says whether the user has one of some rights at least. It asks in the given order and stops at the first one held.
func (h *RequestAuthorizer) HasAny(ctx context.Context, oneOf ...Permission) (bool, error) {
	for _, right := range oneOf {
		if held, err := h.lookUp(ctx, right); held || err != nil {
			return held, err
		}
	}
	return false, nil
}

// lookUp asks about a right, or waits for who asks already.
func (h *RequestAuthorizer) lookUp(ctx context.Context, right Permission) (bool, error) {
	h.mu.Lock()
	known, asked := h.known[right]
	if !asked {
		known = &result{done: make(chan struct{})}
		h.known[right] = known
	}
	h.mu.Unlock()
	if !asked {
		known.held, known.err = h.checker.Allowed(ctx, h.user, right.attributes())
		close(known.done)
	}
	<-known.done
	return known.held && known.err == nil, known.err
}

func (r Permission) attributes() authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: r.Verb, Group: r.Group, Version: "*", Resource: r.Resource, Subresource: r.Subresource, Name: r.Name,
	}
}

// Describe says which rights would do: any one of those given, of which there must be at least one.
func Describe(oneOf ...Permission) string {
	out := make([]string, 0, len(oneOf))
	for _, right := range slices.Backward(oneOf) {
		out = append(out, right.String())
	}
	return strings.Join(out, ", or ")
}
