package agent

import (
	"errors"
	"strings"
	"testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/cluster"
)

func TestRegistrationFaultSaysWhyAClusterIsNotReported(t *testing.T) {
	recorded := func(uid string, accepted bool) *clusterv1.ManagedCluster {
		out := &clusterv1.ManagedCluster{}
		out.Name, out.Spec.HubAcceptsClient = "c1", accepted
		out.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: uid}
		return out
	}
	for sentence, test := range map[string]struct {
		state cluster.State
		want  error
		text  string
	}{
		"accepted":                       {cluster.State{Access: cluster.Present, UID: "u1", Cluster: recorded("u1", true)}, nil, ""},
		"not accepted":                   {cluster.State{Access: cluster.Present, UID: "u1", Cluster: recorded("u1", false)}, errNotAccepted, "kubectl berth accept"},
		"the hub has another member":     {cluster.State{Access: cluster.Present, UID: "u2", Cluster: recorded("u1", true)}, errOther, `UID "u1", and this one has the UID "u2"`},
		"another member that is refused": {cluster.State{Access: cluster.Present, UID: "u2", Cluster: recorded("u1", false)}, errOther, "delete the ManagedCluster"},
		"deleted":                        {cluster.State{Access: cluster.Absent}, errDeleted, ""},
		"not readable":                   {cluster.State{Access: cluster.Forbidden}, errNotReadable, ""},
		"the certificate is refused":     {cluster.State{Access: cluster.Unauthorized}, errRefused, ""},
		"nothing is read":                {cluster.State{}, errNotRead, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := registrationFault(test.state)
			if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("registrationFault = %v, want %v with %q", err, test.want, test.text)
			}
		})
	}
}
