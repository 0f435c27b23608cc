package cli

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
	"github.com/berth-project/berth/internal/membership/join"
	"github.com/berth-project/berth/internal/membership/registration"
)

// flagValue returns the value of a flag in a printed command.
func flagValue(t *testing.T, command, flag string) string {
	t.Helper()
	words := strings.Fields(command)
	for i, word := range words[:len(words)-1] {
		if word == flag {
			return words[i+1]
		}
	}
	t.Fatalf("%q has no %s", command, flag)
	return ""
}

// TestAJoinTokenIsOfOneCluster creates a token and lists what it may do.
func TestAJoinTokenIsOfOneCluster(t *testing.T) {
	got := run(t.Context(), "token", "create", "--cluster", "token-1", "--label", "region=eu", "--ttl", "1h")
	if got.code != cli.ExitOK {
		t.Fatalf("creating a token: %+v", got)
	}
	admin := kit.New(t, shared)
	cluster := &clusterv1.ManagedCluster{}
	admin.MustGet(client.ObjectKey{Name: "token-1"}, cluster)
	if cluster.Spec.HubAcceptsClient || cluster.Labels["region"] != "eu" ||
		cluster.Annotations[clusterv1.JoinRequesterAnnotationKey] != registration.JoinUser("token-1") {
		t.Errorf("the cluster is %+v with labels %v and annotations %v", cluster.Spec, cluster.Labels, cluster.Annotations)
	}

	endpoint, err := join.Verify(t.Context(), flagValue(t, got.out, "--hub"), flagValue(t, got.out, "--ca-hash"))
	if err != nil {
		t.Fatalf("verifying the hub by the printed hash: %v", err)
	}
	config := &rest.Config{
		Host: endpoint.URL, BearerToken: flagValue(t, got.out, "--token"),
		TLSClientConfig: rest.TLSClientConfig{CAData: endpoint.Authority},
	}
	agent := kubernetes.NewForConfigOrDie(config)
	kit.AwaitAccess(t, shared, registration.JoinUser("token-1"), nil, authorizationv1.ResourceAttributes{
		Verb: "get", Group: clusterv1.GroupName, Resource: "managedclusters", Name: "token-1",
	}, true)
	allowed := map[string]bool{}
	for _, check := range []authorizationv1.ResourceAttributes{
		{Group: clusterv1.GroupName, Resource: "managedclusters", Verb: "get", Name: "token-1"},
		{Group: clusterv1.GroupName, Resource: "managedclusters", Verb: "get", Name: "token-10"},
		{Group: clusterv1.GroupName, Resource: "managedclusters", Verb: "list"},
		{Group: clusterv1.GroupName, Resource: "managedclusters", Verb: "update", Name: "token-1"},
		{Group: clusterv1.GroupName, Resource: "managedclusters", Verb: "create"},
		{Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Verb: "create"},
		{Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Verb: "get", Name: "any"},
		{Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Verb: "list"},
		{Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Subresource: "approval", Verb: "update"},
		{Resource: "secrets", Verb: "get", Namespace: registration.JoinNamespace},
	} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &check}}
		review = kit.Must(agent.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})).In(t)
		if review.Status.Allowed {
			allowed[fmt.Sprintf("%s %s %s", check.Verb, check.Resource, check.Name)] = true
		}
	}
	want := []string{"get managedclusters token-1", "create certificatesigningrequests ", "get certificatesigningrequests any"}
	for _, permission := range want {
		if !allowed[permission] {
			t.Errorf("the token may not %s", permission)
		}
	}
	if len(allowed) != len(want) {
		t.Errorf("the token may do %v, want only %v", allowed, want)
	}

	if _, err := join.Verify(t.Context(), endpoint.URL, "sha256:"+strings.Repeat("0", 64)); err == nil ||
		!strings.Contains(err.Error(), "--ca-hash") {
		t.Errorf("verifying the hub by another hash: %v, want it refused with what to do", err)
	}
}

// TestATokenNeedsATruthfulCommandLine names the faults.
func TestATokenNeedsATruthfulCommandLine(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no cluster":   {[]string{"token", "create"}, "name the cluster: --cluster NAME"},
		"a bad name":   {[]string{"token", "create", "--cluster", "A_1"}, `--cluster "A_1" is no name of a cluster`},
		"too long":     {[]string{"token", "create", "--cluster", "x", "--ttl", "800h"}, "a token lives from 10m0s to 168h0m0s"},
		"bad output":   {[]string{"token", "create", "--cluster", "x", "-o", "yaml"}, `unknown output "yaml"`},
		"not a verb":   {[]string{"token", "make"}, `unknown command "make"`},
		"no clusters":  {[]string{"accept"}, "name the clusters: accept NAME"},
		"none of them": {[]string{"deny", "absent"}, "reading ManagedCluster absent"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := run(t.Context(), test.args...); got.code != cli.ExitRefused || !strings.Contains(got.errOut, test.want) {
				t.Errorf("%v: %+v, want %q", test.args, got, test.want)
			}
		})
	}
}

// TestAClusterIsAcceptedAndDenied follows a cluster from its token to its denial, by what the commands print.
func TestAClusterIsAcceptedAndDenied(t *testing.T) {
	if got := run(t.Context(), "token", "create", "--cluster", "pending-1"); got.code != cli.ExitOK {
		t.Fatalf("creating a token: %+v", got)
	}
	expect := func(want string, args ...string) {
		t.Helper()
		if got := run(t.Context(), args...); got.code != cli.ExitOK || !strings.Contains(got.out, want) {
			t.Errorf("%v: %+v, want %q", args, got, want)
		}
	}
	expect("pending-1   not accepted", "clusters", "pending")
	expect("managedcluster pending-1 accepted\n", "accept", "pending-1")
	expect("managedcluster pending-1 accepted already\n", "accept", "pending-1")
	expect("pending-1   the agent has not reported", "clusters", "pending")
	expect("managedcluster pending-1 denied\n", "deny", "pending-1")

	admin := kit.New(t, shared)
	cluster := &clusterv1.ManagedCluster{}
	admin.MustGet(client.ObjectKey{Name: "pending-1"}, cluster)
	cluster.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.ManagedClusterConditionJoined, Status: metav1.ConditionTrue, Reason: clusterv1.ReasonManagedClusterJoined,
		LastTransitionTime: metav1.Now(),
	}}
	admin.MustUpdateStatus(cluster)
	if got := run(t.Context(), "token", "create", "--cluster", "pending-1"); got.code != cli.ExitRefused ||
		!strings.Contains(got.errOut, "has joined: add --rejoin") {
		t.Errorf("a second token of a cluster that has joined: %+v, want it refused", got)
	}
	if got := run(t.Context(), "token", "create", "--cluster", "pending-1", "--rejoin", "--label", "region=eu"); got.code != cli.ExitRefused ||
		!strings.Contains(got.errOut, "another label region") {
		t.Errorf("a token with a label that the cluster does not have: %+v, want it refused", got)
	}
	if got := run(t.Context(), "token", "create", "--cluster", "pending-1", "--rejoin", "--hub-url",
		"https://127.0.0.1:1"); !strings.HasPrefix(got.out, "cat > hub-ca.crt") || !strings.Contains(got.out, "--ca-file hub-ca.crt") {
		t.Errorf("a token for a hub that presents no authority: %+v, want the authority beside the command", got)
	}
	expect("--cluster pending-1", "token", "create", "--cluster", "pending-1", "--rejoin")
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "pending-1"}, cluster); err != nil ||
		cluster.Annotations[clusterv1.AutoRejoinAnnotationKey] != "true" {
		t.Errorf("annotations %v, %v, want the cluster to be allowed to rejoin", cluster.Annotations, err)
	}
	if err := admin.Delete(t.Context(), cluster); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// TestAcceptingApprovesTheRequestOfTheSharedIdentity accepts a cluster whose agent has the bootstrap identity of OCM.
func TestAcceptingApprovesTheRequestOfTheSharedIdentity(t *testing.T) {
	admin := kit.New(t, shared)
	cluster := kit.Cluster("shared-1")
	admin.MustCreate(cluster)
	config := shared.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:bootstrap:ocmhub",
		Groups:   []string{"system:bootstrappers:managedcluster", "system:authenticated", "system:masters"},
	}
	bootstrap := kubernetes.NewForConfigOrDie(config)
	request := func() string {
		t.Helper()
		made, err := bootstrap.CertificatesV1().CertificateSigningRequests().Create(t.Context(), kit.AgentRequest(t, "shared-1", "a1"),
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return made.Name
	}
	name := request()
	if got := run(t.Context(), "clusters", "pending"); !strings.Contains(got.out, "shared-1   not accepted") {
		t.Errorf("pending before the acceptance: %+v", got)
	}
	if got := run(t.Context(), "accept", "shared-1"); got.code != cli.ExitOK ||
		got.out != "managedcluster shared-1 accepted\ncertificatesigningrequest "+name+" approved\n" {
		t.Errorf("accept: %+v, want the request approved", got)
	}
	first, second := request(), request()
	if got := run(t.Context(), "clusters", "pending"); !strings.Contains(got.out, "has a bootstrap identity that all clusters share") {
		t.Errorf("pending with a request: %+v, want why it waits", got)
	}
	if got := run(t.Context(), "accept", "shared-1"); got.code != cli.ExitRefused ||
		!strings.Contains(got.errOut, "2 agents request the certificate") {
		t.Errorf("accept with the requests %s and %s: %+v, want it refused", first, second, got)
	}
}
