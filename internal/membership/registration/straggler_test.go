package registration_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

func TestStragglers(t *testing.T) {
	cluster := func(name, key, value string, conditions ...metav1.Condition) clusterv1.ManagedCluster {
		out := clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{key: value}}}
		out.Status.Conditions = conditions
		return out
	}
	reports := condition(joined, "True", "J")
	clusters := []clusterv1.ManagedCluster{
		cluster("new", registration.CAHashAnnotationKey, "h2", reports),
		cluster("both", registration.CAHashAnnotationKey, "h1", reports),
		cluster("old", registration.CAHashAnnotationKey, "h0", reports),
		cluster("other", "a", "b", reports),
		cluster("waiting", "a", "b"),
		cluster("simulated", clusterv1.SimulatedAnnotationKey, "true"),
	}
	unknown := []registration.Straggler{{"other", registration.ReasonBundleUnknown}, {"waiting", registration.ReasonNeverJoined}}
	for sentence, test := range map[string]struct {
		hashes []string
		want   []registration.Straggler
	}{
		"without a hash, agents that never report one": {nil, unknown},
		"with hashes, agents with an old one as well": {
			[]string{"h1", "h2"}, append([]registration.Straggler{{"old", registration.ReasonBundleOld}}, unknown...),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, registration.Stragglers(clusters, test.hashes...)); diff != "" {
				t.Errorf("Stragglers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTokensFromBeforeAChange(t *testing.T) {
	since := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	cluster := func(name, driver, report string) clusterv1.ManagedCluster {
		return clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			clusterv1.DriverAnnotationKey: driver, clusterv1.AgentTokenAnnotationKey: report,
		}}}
	}
	before, after := registration.TokenReport("u", since.Add(-time.Second)), registration.TokenReport("u", since)
	clusters := []clusterv1.ManagedCluster{
		cluster("old", registration.DriverToken, before),
		cluster("new", registration.DriverToken, after),
		cluster("garbled", registration.DriverToken, "u/x"),
		cluster("listed", registration.DriverToken, before),
		cluster("unreported", registration.DriverToken, ""),
		cluster("certificate", registration.DriverCSR, before),
	}
	listed := registration.Straggler{Cluster: "listed", Reason: registration.ReasonBundleOld}
	want := []registration.Straggler{{"garbled", registration.ReasonSignedByFormerKey}, listed, {"old", registration.ReasonSignedByFormerKey}}
	if diff := cmp.Diff(want, registration.WithOldTokens([]registration.Straggler{listed}, clusters, since)); diff != "" {
		t.Errorf("WithOldTokens (-want +got):\n%s", diff)
	}
}
