package autoaccept_test

import (
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/membership/registration/autoaccept"
)

func TestRulesThatAreNotRead(t *testing.T) {
	for _, text := range []string{
		"", "name=a", "user=u", "user=u;group=g;name=a", "user=;name=a", "user=u;name=(", "user=u;name=a;name=b", "user=u;name=a;sets=b",
		"user=u;name=" + strings.Repeat("a", 257),
	} {
		if rule, err := autoaccept.Parse(text); err == nil {
			t.Errorf("the rule %q is read as %v", text, rule)
		}
	}
}

func TestAccepts(t *testing.T) {
	type cluster = clusterv1.ManagedCluster
	const user, group = "user=u;name=edge-[0-9]+", "group=g;name=edge-.*;set=edge"
	annotated := func(key, value string) func(*cluster) {
		return func(c *cluster) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value) }
	}
	for sentence, test := range map[string]struct {
		rule   string
		change func(*cluster)
		want   bool
	}{
		"the user":                     {user, nil, true},
		"another user":                 {"user=v;name=.*", nil, false},
		"the user as a group":          {"group=u;name=.*", nil, false},
		"a name that only begins so":   {"user=u;name=edge", nil, false},
		"a name that only contains it": {"user=u;name=dge-1|x", nil, false},
		"a group, and the set":         {group, func(c *cluster) { c.Labels = map[string]string{clusterv1beta2.ClusterSetLabel: "edge"} }, true},
		"a group, and another set":     {group, nil, false},
		"the set default by its label": {
			user, func(c *cluster) { c.Labels = map[string]string{clusterv1beta2.ClusterSetLabel: "default"} },
			true,
		},
		"another set than default": {user, func(c *cluster) { c.Labels = map[string]string{clusterv1beta2.ClusterSetLabel: "edge"} }, false},
		"accepted already":         {user, func(c *cluster) { c.Spec.HubAcceptsClient = true }, false},
		"denied": {user, func(c *cluster) {
			c.Status.Conditions = []metav1.Condition{{
				Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionFalse,
				Reason: "Denied",
			}}
		}, false},
		"accepted by a rule before":       {user, annotated(clusterv1.ClusterAcceptedAnnotationKey, "then"), false},
		"a member is recorded":            {user, annotated(clusterv1.ClusterUIDAnnotationKey, "u1"), false},
		"another requester is recorded":   {user, annotated(clusterv1.JoinRequesterAnnotationKey, "v"), false},
		"this requester is recorded":      {user, annotated(clusterv1.JoinRequesterAnnotationKey, "u"), true},
		"a simulated cluster":             {user, annotated(clusterv1.SimulatedAnnotationKey, "true"), false},
		"a cluster that is being deleted": {user, func(c *cluster) { c.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time} }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			rule, err := autoaccept.Parse(test.rule)
			if err != nil {
				t.Fatal(err)
			}
			c := &cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}
			if test.change != nil {
				test.change(c)
			}
			request := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
				Username: "u",
				Groups:   []string{"g"},
			}}
			if got := rule.Accepts(c, request); got != test.want {
				t.Errorf("Accepts = %t, want %t", got, test.want)
			}
		})
	}
}
