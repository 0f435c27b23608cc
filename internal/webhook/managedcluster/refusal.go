package managedcluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/webhook/review"
	"github.com/berth-project/berth/internal/webhook/right"
)

const (
	resource = "managedclusters"
	// registrationGroup is where the permission to accept a cluster lives, other than everything else here.
	registrationGroup = "register.open-cluster-management.io"
)

func groupResource() schema.GroupResource {
	return schema.GroupResource{Group: clusterv1.GroupName, Resource: resource}
}

// forbid says what the user may not do, and which right would change that.
func (c Case) forbid(doing string, oneOf ...right.Right) error {
	return review.Forbidden(groupResource(), c.New.Name,
		fmt.Sprintf("%s may not %s: this needs %s", who(c.User), doing, right.Needed(oneOf...)))
}

func who(user User) string { return fmt.Sprintf("user %q", user.Name()) }
