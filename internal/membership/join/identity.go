package join

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/membership/registration/approval"
)

// CheckIdentity returns an error where a cluster must not be accepted as it is: the member that requests its certificate is another
// accepted cluster, or several members request it. The error names them, and what to do. A cluster that is accepted goes on: the hub
// approves no such request by itself.
func CheckIdentity(ctx context.Context, hub client.Client, name string) error {
	stored := &clusterv1.ManagedCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
		return fmt.Errorf("reading ManagedCluster %s: %w", name, err)
	}
	next := stored.DeepCopy()
	next.Spec.HubAcceptsClient = true // the rules compare members only on an accepted cluster
	open, err := listOpen(ctx, hub, map[string]*clusterv1.ManagedCluster{name: next})
	if err != nil {
		return err
	}
	return identityFault(stored, open[name])
}

// identityFault returns why a cluster with open requests must not be accepted.
func identityFault(cluster *clusterv1.ManagedCluster, open []waitingRequest) error {
	for i := range open {
		if open[i].reason == approval.ReasonOtherName {
			return fmt.Errorf("the request %s: %s", open[i].request.Name, open[i].message)
		}
	}
	if cluster.Spec.HubAcceptsClient {
		return nil
	}
	for i := range open {
		if found := &open[i]; found.reason == approval.ReasonIdentityConflict {
			return fmt.Errorf("the request %s: %s; to accept this member in place of the recorded one, run `kubectl berth accept %s --replace`; "+
				"otherwise stop its agent, run `kubectl certificate deny %s`, and try again",
				found.request.Name, found.message, cluster.Name, found.request.Name)
		}
	}
	return severalMembers(cluster, open)
}

// severalMembers returns an error where several members request the first certificate of a cluster without a recorded member with one
// token.
func severalMembers(cluster *clusterv1.ManagedCluster, open []waitingRequest) error {
	var lines []string
	members := map[string]bool{}
	for i := range open {
		found := &open[i]
		if found.uid() != "" && found.request.Spec.Username == registration.JoinUser(cluster.Name) {
			members[found.uid()] = true
			lines = append(lines, fmt.Sprintf("  %s: the member with the UID %q", found.request.Name, found.uid()))
		}
	}
	if len(members) < 2 || cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] != "" {
		return nil
	}
	slices.Sort(lines)
	return fmt.Errorf("several members request to be ManagedCluster %s: stop the agents of all but the right one, deny their requests with "+
		"kubectl certificate deny, and try again:\n%s", cluster.Name, strings.Join(lines, "\n"))
}
