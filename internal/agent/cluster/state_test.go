package cluster

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

func TestRejoinWaitsUntilTheClusterIsGoneForFiveMinutes(t *testing.T) {
	start := time.Unix(0, 0)
	found := func(s State) State { return s.observe(&clusterv1.ManagedCluster{}, start) }
	gone := func(s State) State { return s.observe(nil, start) }
	forbidden := func(s State) State { return s.fail(apierrors.NewForbidden(schema.GroupResource{}, "c1", nil), start) }
	refused := func(s State) State { return s.fail(apierrors.NewUnauthorized(""), start) }
	silent := func(s State) State { return s.fail(errors.New("connection refused"), start) }
	for sentence, test := range map[string]struct {
		events []func(State) State
		after  time.Duration
		want   Rejoin
		again  time.Duration
	}{
		"nothing is read":                           {nil, time.Hour, Stay, 0},
		"the hub has the cluster":                   {[]func(State) State{found}, time.Hour, Stay, 0},
		"the hub does not respond":                  {[]func(State) State{found, silent}, time.Hour, Stay, 0},
		"the cluster is gone for a minute":          {[]func(State) State{found, gone}, time.Minute, Stay, 4 * time.Minute},
		"the cluster is gone for five minutes":      {[]func(State) State{found, gone}, 5 * time.Minute, Look, 0},
		"gone, and the permissions are withdrawn":   {[]func(State) State{found, gone, forbidden}, 5 * time.Minute, Look, 0},
		"not readable: not accepted, or gone":       {[]func(State) State{forbidden}, 5 * time.Minute, Look, 0},
		"the certificate is refused":                {[]func(State) State{found, refused}, 5 * time.Minute, Join, 0},
		"the certificate is refused for a minute":   {[]func(State) State{found, refused}, time.Minute, Stay, 4 * time.Minute},
		"gone, and back":                            {[]func(State) State{found, gone, found}, time.Hour, Stay, 0},
		"gone, and then the hub does not respond":   {[]func(State) State{found, gone, silent}, 5 * time.Minute, Look, 0},
		"refused, and then the hub has the cluster": {[]func(State) State{refused, found}, time.Hour, Stay, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			state := State{}
			for _, event := range test.events {
				state = event(state)
			}
			got, again := state.Rejoin(start.Add(test.after))
			if got != test.want || again != test.again {
				t.Errorf("Rejoin = %v, %s; want %v, %s", got, again, test.want, test.again)
			}
		})
	}
}

func TestAFailedReadingKeepsTheCluster(t *testing.T) {
	accepted := &clusterv1.ManagedCluster{}
	accepted.Spec.HubAcceptsClient = true
	state := State{}.observe(accepted, time.Unix(0, 0)).fail(apierrors.NewForbidden(schema.GroupResource{}, "c1", nil), time.Unix(1, 0))
	if !state.Accepted() {
		t.Error("a refusal removed the cluster")
	}
}

func TestAClusterOfAnotherMemberIsNotAccepted(t *testing.T) {
	for sentence, test := range map[string]struct {
		annotations map[string]string
		accepted    bool
		other       string
	}{
		"no recorded UID":           {nil, true, ""},
		"an empty UID":              {map[string]string{clusterv1.ClusterUIDAnnotationKey: ""}, true, ""},
		"the UID of this member":    {map[string]string{clusterv1.ClusterUIDAnnotationKey: "u1"}, true, ""},
		"the UID of another member": {map[string]string{clusterv1.ClusterUIDAnnotationKey: "u10"}, false, "u10"},
		"another annotation":        {map[string]string{"other": "u10"}, true, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			found := &clusterv1.ManagedCluster{}
			found.Annotations, found.Spec.HubAcceptsClient = test.annotations, true
			state := State{UID: "u1"}.observe(found, time.Unix(0, 0))
			if state.Accepted() != test.accepted || state.OtherMember() != test.other {
				t.Errorf("Accepted = %t, OtherMember = %q; want %t, %q", state.Accepted(), state.OtherMember(), test.accepted, test.other)
			}
		})
	}
}
