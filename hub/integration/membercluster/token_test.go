//go:build slow

package membercluster

import (
	"context"
	"errors"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

var errNotUsedUp = errors.New("the join token is not used up")

// TestAMemberOfAHubThatSignsNoCertificates: the member joins by a token, and returns with the token of its folder.
func TestAMemberOfAHubThatSignsNoCertificates(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manager: true, TaintUnjoined: true, Args: []string{"--no-agent-certificates"}})
	admin, data := kit.New(t, hub), t.TempDir()
	flags := append(hub.JoinFlags(t, name, registration.DriverToken), "--driver="+registration.DriverToken)
	member := startMember(t, admin, data, flags)
	cluster := kit.Cluster(name)
	kit.Await(t, "the join token is used up", func(ctx context.Context) error {
		err := admin.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)
		if err == nil && cluster.Annotations[clusterv1.JoinRequesterAnnotationKey] != "" {
			err = errNotUsedUp
		}
		return err
	})
	kit.NoError(t, member.Stop())
	kit.Await(t, "the stopped member is unknown", reported(admin, metav1.ConditionUnknown))

	hubtest.New(t, hubtest.Options{DataDir: data, Member: []string{"--name=" + name}})
	kit.Await(t, "the member reports again", reported(admin, metav1.ConditionTrue))
	requests := &certificatesv1.CertificateSigningRequestList{}
	if err := admin.List(t.Context(), requests); err != nil || len(requests.Items) != 0 {
		t.Errorf("%d certificate requests, %v; want none", len(requests.Items), err)
	}
}
