package registration_test

import (
	"testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

func TestAJoinTokenIsUsedUpByTheReportOfTheMember(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(map[string]string)
		want   bool
	}{
		"the first report":                   {func(map[string]string) {}, true},
		"a report of the recorded member":    {func(a map[string]string) { a[clusterv1.ClusterUIDAnnotationKey] = "u1" }, true},
		"a report of another member":         {func(a map[string]string) { a[clusterv1.ClusterUIDAnnotationKey] = "u2" }, false},
		"a report of before this join token": {func(a map[string]string) { a[clusterv1.JoinedRequestAnnotationKey] = "u1/100" }, false},
		"a later report":                     {func(a map[string]string) { a[clusterv1.JoinedRequestAnnotationKey] = "u1/99" }, true},
		"no report":                          {func(a map[string]string) { delete(a, clusterv1.AgentTokenAnnotationKey) }, false},
		"a report without a member":          {func(a map[string]string) { a[clusterv1.AgentTokenAnnotationKey] = "/100" }, false},
		"a report whose member is no UID":    {func(a map[string]string) { a[clusterv1.AgentTokenAnnotationKey] = "U 1/100" }, false},
		"the driver csr":                     {func(a map[string]string) { delete(a, clusterv1.DriverAnnotationKey) }, false},
		"no join token is recorded":          {func(a map[string]string) { delete(a, clusterv1.JoinRequesterAnnotationKey) }, false},
		"the join token of a similar name is": {func(a map[string]string) {
			a[clusterv1.JoinRequesterAnnotationKey] = registration.JoinUser("c10")
		}, false},
		"a user that is no join token, recorded": {func(a map[string]string) { a[clusterv1.JoinRequesterAnnotationKey] = "jane" }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			cluster := &clusterv1.ManagedCluster{}
			cluster.Name = "c1"
			cluster.Annotations = map[string]string{
				clusterv1.DriverAnnotationKey: registration.DriverToken, clusterv1.JoinRequesterAnnotationKey: registration.JoinUser("c1"),
				clusterv1.AgentTokenAnnotationKey: "u1/100",
			}
			test.change(cluster.Annotations)
			if uid, report, got := registration.JoinedByToken(cluster); got != test.want || got && (uid != "u1" || report != "u1/100") {
				t.Errorf("JoinedByToken = %q, %q, %t; want %t", uid, report, got, test.want)
			}
		})
	}
}

func TestOtherReporterIsAnotherMemberThanTheRecordedOne(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(map[string]string)
		want   string
	}{
		"another member reports":                         {func(map[string]string) {}, "u1"},
		"the recorded member reports":                    {func(a map[string]string) { a[clusterv1.ClusterUIDAnnotationKey] = "u1" }, ""},
		"no member is recorded":                          {func(a map[string]string) { delete(a, clusterv1.ClusterUIDAnnotationKey) }, ""},
		"the report is of before the record":             {func(a map[string]string) { a[clusterv1.JoinedRequestAnnotationKey] = "u1/100" }, ""},
		"another member reports after it was replaced":   {func(a map[string]string) { a[clusterv1.JoinedRequestAnnotationKey] = "u1/99" }, "u1"},
		"the agent authenticates by a certificate":       {func(a map[string]string) { delete(a, clusterv1.DriverAnnotationKey) }, ""},
		"the member that another client wrote is no UID": {func(a map[string]string) { a[clusterv1.AgentTokenAnnotationKey] = "U 1/100" }, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			cluster := &clusterv1.ManagedCluster{}
			cluster.Annotations = map[string]string{
				clusterv1.DriverAnnotationKey: registration.DriverToken, clusterv1.ClusterUIDAnnotationKey: "u2",
				clusterv1.AgentTokenAnnotationKey: "u1/100",
			}
			test.change(cluster.Annotations)
			if got := registration.OtherReporter(cluster); got != test.want {
				t.Errorf("OtherReporter = %q, want %q", got, test.want)
			}
		})
	}
}
