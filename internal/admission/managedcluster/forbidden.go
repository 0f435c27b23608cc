package managedcluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/admission/permission"
	"github.com/berth-project/berth/internal/admission/review"
)

const (
	resource = "managedclusters"
	// registrationGroup is the API group of the permission to accept a cluster.
	registrationGroup = "register.open-cluster-management.io"
)

func groupResource() schema.GroupResource {
	return schema.GroupResource{Group: clusterv1.GroupName, Resource: resource}
}

// forbidden returns the error for an action, with the permissions that would allow it.
func (r Request) forbidden(doing string, oneOf ...permission.Permission) error {
	return review.Forbidden(groupResource(), r.New.Name,
		fmt.Sprintf("%s may not %s: this needs %s", userText(r.User), doing, permission.Describe(oneOf...)))
}

func userText(user User) string { return fmt.Sprintf("user %q", user.Name()) }
