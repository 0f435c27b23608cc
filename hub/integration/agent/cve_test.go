package agent

import (
	"net/http"
	"testing"

	"github.com/berth-project/berth/internal/membership/registration"
)

// TestCVE20249779 covers what admission can: with stolen credentials of an agent, and every role, the thief creates no pod that runs
// as another account, and no token of an account.
func TestCVE20249779(t *testing.T) {
	acceptedCluster(t, "breached")
	ensureNamespace(t, "victim")
	mustCreate(t, inNamespace("/api/v1", "breached", "serviceaccounts"), object{"metadata": object{"name": "controller"}})
	who := withEveryRole(t, newAgent(t, "breached"))
	const refused = `the agent of the cluster "breached" may not CREATE `
	for _, namespace := range []string{"breached", "victim", "berth-system"} {
		pod := object{"metadata": object{"name": "p"}, "spec": object{"containers": []object{{"name": "c", "image": "i"}}}}
		if namespace == "breached" { // the account of a pod must exist
			pod["spec"].(object)["serviceAccountName"] = "controller"
			who.create(t, inNamespace("/api/v1", namespace, "pods"), pod).expectRefusal(t, refused+`pods "p" in the namespace "breached"`)
		}
		who.create(t, inNamespace("/api/v1", namespace, "serviceaccounts"), object{"metadata": object{"name": "a"}}).
			expectRefusal(t, refused+`serviceaccounts "a" in the namespace "`+namespace+`"`)
	}
	who.create(t, "/api/v1/namespaces/breached/serviceaccounts/controller/token", object{"spec": object{}}).
		expectRefusal(t, refused+`serviceaccounts/token "controller" in the namespace "breached"`)
	who.create(t, "/api/v1/namespaces/berth-system/serviceaccounts/berth/token", object{"spec": object{}}).
		expectRefusal(t, refused+`serviceaccounts/token "berth" in the namespace "berth-system"`)
	who.create(t, clusterRoleBindings, binding("mine", "cluster-admin", user(who.Name()))).
		expectRefusal(t, refused+"clusterrolebindings.rbac.authorization.k8s.io")
}

// TestCVE20264740 covers what admission can: the agent of c1 has nothing of c10, by its certificate or by its account, and does not
// approve its own request for a certificate of c10.
func TestCVE20264740(t *testing.T) {
	acceptedCluster(t, "c1")
	acceptedCluster(t, "c10")
	path := mustCreate(t, requests, object{"metadata": object{"name": "c10-x"}, "spec": object{
		"request": certificateRequest(t), "signerName": "kubernetes.io/kube-apiserver-client", "usages": []string{"client auth"},
	}})
	for _, who := range []requester{
		withEveryRole(t, newAgent(t, "c1")),
		withEveryRole(t, newRequester(t, "system:serviceaccount:c1:berth-agent", "system:serviceaccounts:c1")),
		withEveryRole(t, newRequester(t, "system:open-cluster-management:c1:c10", registration.AgentGroup("c1"))),
	} {
		const refused = `the agent of the cluster "c1" may not UPDATE `
		who.merge(t, clusters+"/c10/status", `{"status":{"version":{"kubernetes":"v0"}}}`).expectRefusal(t, refused+"managedclusters/status")
		who.merge(t, leases("c10")+"/managed-cluster-lease", `{"spec":{"renewTime":null}}`).expectRefusal(t, refused+"leases")
		approved := merged(t, mustGet(t, path), `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"Mine"}]}}`)
		who.do(t, http.MethodPut, path+"/approval", jsonBody, approved).expectRefusal(t, refused+"certificatesigningrequests/approval")
		who.merge(t, clusters+"/c1/status", `{"status":{"version":{"kubernetes":"v1"}}}`).expect(t, "")
	}
}
