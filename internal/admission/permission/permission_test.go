package permission_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/admission/permission"
)

var errBoom = errors.New("boom")

// fakeReviewServer responds to reviews and records them.
type fakeReviewServer struct {
	client.Writer

	status   authorizationv1.SubjectAccessReviewStatus
	err      error
	reviewed []authorizationv1.SubjectAccessReviewSpec
}

func (s *fakeReviewServer) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	review := object.(*authorizationv1.SubjectAccessReview)
	s.reviewed = append(s.reviewed, review.Spec)
	review.Status = s.status
	return s.err
}

func TestReviews(t *testing.T) {
	for name, tc := range map[string]struct {
		status authorizationv1.SubjectAccessReviewStatus
		err    error
		want   bool
	}{
		"allowed":                             {status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}, want: true},
		"no opinion":                          {},
		"denied wins over allowed":            {status: authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true}},
		"a review that fails allows nothing":  {status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}, err: errBoom},
		"an authorizer that failed, no grant": {status: authorizationv1.SubjectAccessReviewStatus{EvaluationError: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			to := &fakeReviewServer{status: tc.status, err: tc.err}
			user := authenticationv1.UserInfo{
				Username: "jane", UID: "7", Groups: []string{"devs"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a"}},
			}
			wants := authorizationv1.ResourceAttributes{Verb: "create", Group: "g", Resource: "r", Subresource: "s", Name: "n"}
			got, err := permission.SubjectAccessReviewer{Client: to}.Allowed(t.Context(), user, wants)
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("Allowed = %v, %v, want %v, %v", got, err, tc.want, tc.err)
			}
			want := []authorizationv1.SubjectAccessReviewSpec{{
				User: "jane", UID: "7", Groups: []string{"devs"}, Extra: map[string]authorizationv1.ExtraValue{"scopes": {"a"}},
				ResourceAttributes: &wants,
			}}
			if diff := cmp.Diff(want, to.reviewed); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEachPermissionIsReviewedOnce(t *testing.T) {
	to := &fakeReviewServer{}
	holder := permission.NewRequestAuthorizer(authenticationv1.UserInfo{Username: "jane"}, permission.SubjectAccessReviewer{Client: to})
	a, b := permission.Permission{Verb: "create", Name: "a"}, permission.Permission{Verb: "create", Name: "b"}
	for range 3 {
		if held, err := holder.HasAny(t.Context(), a, b); held || err != nil {
			t.Errorf("Has = %v, %v, want neither", held, err)
		}
	}
	if len(to.reviewed) != 2 {
		t.Errorf("reviewed %d times, want once for each permission", len(to.reviewed))
	}
}

func TestHasAnyStopsAtTheFirstGrantedPermission(t *testing.T) {
	to := &fakeReviewServer{status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}}
	holder := permission.NewRequestAuthorizer(authenticationv1.UserInfo{}, permission.SubjectAccessReviewer{Client: to})
	if held, err := holder.HasAny(t.Context(), permission.Permission{Name: "a"}, permission.Permission{Name: "b"}); !held || err != nil ||
		len(to.reviewed) != 1 {
		t.Errorf("Has = %v, %v after %d reviews, want the permission after one review", held, err, len(to.reviewed))
	}
}
