//go:build slow

package endtoend

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	addonv1beta1 "github.com/berth-project/berth/api/addon/v1beta1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/checkout"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	withToken, behindProxy, probed = "with-token", "behind-proxy", "probed"
	addOnName                      = "search"
	probeNamespace                 = "berth-probe"
	// allControllers are the controllers of both hubs.
	allControllers = "--controllers=*,acceptance,csr,addon,replicaset,probe"
	probeAllow     = "--probe-allow=127.0.0.1"
)

// TestAnExportMovesTokensProxiesAddOnsAndProbedClusters moves a hub with an agent that has a token instead of a certificate, an agent
// behind a proxy with TLS, a cluster without an agent, and add-ons.
func TestAnExportMovesTokensProxiesAddOnsAndProbedClusters(t *testing.T) {
	h := newEmptyHub(t, allControllers, probeAllow)
	proxy := newTLSProxy(t)
	h.joinByToken(joining{name: withToken, driver: registration.DriverToken})
	h.joinByToken(joining{name: behindProxy, through: proxy})
	h.awaitAvailable()
	h.storeProbed()
	h.storeAddOns(withToken)
	w := h.deliver("first")
	before, addOns, tokens := h.uids(w), h.addOns(), h.tokenOf(withToken)
	to := newTarget(t, allControllers, probeAllow)
	to.startManager()
	to.awaitDefaultSet()

	running := h.export(to, "--timeout=3m")
	to.keepManager()
	if code, printed := exported(t, running); code != 0 || !strings.Contains(printed, "2 of 2 agents have moved") {
		t.Fatalf("the export = %d: %s", code, printed)
	}
	old := h.hub
	requireNoHandOver(t, old)
	h.hub, h.admin = to.Hub, to.admin
	kit.NoError(t, old.Stop())
	h.awaitTokenOf(withToken, tokens)
	if address := strings.TrimPrefix(to.Config().Host, "https://"); proxy.connections(address) == 0 {
		t.Errorf("the agent behind the proxy does not use it for %s: %v", address, proxy.opened)
	}
	h.awaitAvailable()
	if diff := cmp.Diff(addOns, h.addOns()); diff != "" {
		t.Errorf("add-ons (-hub +target):\n%s", diff)
	}
	h.awaitProbed()
	h.settle(w)
	h.requireSame(before, h.uids(w))
	h.requireAtHome(w, before)
}

// tokenOf returns the token of the agent of a member.
func (h *testHub) tokenOf(name string) string {
	h.t.Helper()
	for _, m := range h.members {
		if m.name == name {
			token := kit.Must(os.ReadFile(filepath.Join(m.agent.Folder, "token"))).In(h.t)
			return string(bytes.TrimSpace(token))
		}
	}
	h.t.Fatalf("no member %s", name)
	return ""
}

// awaitTokenOf requires that an agent has a token of its hub, which is not the former one, and waits until its join token is used up.
func (h *testHub) awaitTokenOf(name, former string) {
	h.t.Helper()
	token := h.tokenOf(name)
	if token == former {
		h.t.Errorf("the agent of %s has the token of its former hub", name)
	}
	config := rest.AnonymousClientConfig(h.hub.Config())
	config.BearerToken = token
	as := kit.Must(kubernetes.NewForConfig(config)).In(h.t)
	review, err := as.AuthenticationV1().SelfSubjectReviews().Create(h.t.Context(), &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil || review.Status.UserInfo.Username != registration.AccountUser(name) {
		h.t.Errorf("the token of the agent of %s is that of %q, %v", name, review.Status.UserInfo.Username, err)
	}
	cluster := kit.Cluster(name)
	h.admin.AwaitObject(cluster, "its join token is used up", func() error {
		if cluster.Annotations[clusterv1.JoinRequesterAnnotationKey] != "" ||
			cluster.Annotations[clusterv1.DriverAnnotationKey] != registration.DriverToken {
			return fmt.Errorf("the join token of %s is not used up: %v: %w", name, cluster.Annotations, errNotYet)
		}
		return nil
	})
}

// storeAddOns stores an add-on with a template and a configuration, and installs it on a cluster, whose label follows its health.
func (h *testHub) storeAddOns(cluster string) {
	h.t.Helper()
	own := metav1.ObjectMeta{Name: addOnName}
	addOn := &addonv1alpha1.ClusterManagementAddOn{ObjectMeta: own}
	addOn.Spec.AddOnMeta.DisplayName = "Search"
	settings := &addonv1alpha1.AddOnDeploymentConfig{ObjectMeta: metav1.ObjectMeta{Namespace: setNamespace, Name: addOnName}}
	settings.Spec.CustomizedVariables = []addonv1alpha1.CustomizedVariable{{Name: "LEVEL", Value: "2"}}
	template := &addonv1alpha1.AddOnTemplate{ObjectMeta: own}
	template.Spec.AddonName = addOnName
	template.Spec.AgentSpec.Workload.Manifests = newTemplate("agent", "1").spec().Manifests
	h.admin.MustCreate(addOn, settings, template)
	addOn.Status.InstallProgressions = []addonv1alpha1.InstallProgression{
		{PlacementRef: addonv1alpha1.PlacementRef{Namespace: setNamespace, Name: placementName}},
	}
	h.admin.MustUpdateStatus(addOn)
	installed := &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: addOnName}}
	installed.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(addOn,
		addonv1alpha1.GroupVersion.WithKind("ClusterManagementAddOn"))}
	installed.Annotations = map[string]string{addonv1alpha1.InstallNamespaceAnnotation: "search-agent"}
	h.admin.AwaitCreated(installed) // once there is a conversion
	// v1alpha1, in which it is stored, lacks the type.
	installed.Status.Registrations = []addonv1beta1.RegistrationConfig{
		{Type: addonv1beta1.CustomSigner, CustomSigner: &addonv1beta1.CustomSignerConfig{
			SignerName: "example.com/signer", Subject: addonv1beta1.Subject{User: "search", OrganizationUnits: []string{"unit"}},
		}},
	}
	meta.SetStatusCondition(&installed.Status.Conditions, metav1.Condition{
		Type:   addonv1alpha1.ManagedClusterAddOnConditionAvailable,
		Status: metav1.ConditionTrue, Reason: "Test",
	})
	h.admin.MustUpdateStatus(installed)
	stored := kit.Cluster(cluster)
	h.admin.AwaitObject(stored, "the cluster has the label of the add-on", func() error {
		if got := stored.Labels[addonv1alpha1.AddonFeatureLabelPrefix+addOnName]; got != "available" {
			return fmt.Errorf("the label of the add-on is %q: %w", got, errNotYet)
		}
		return nil
	})
}

// addOns returns what clients see of the add-ons, and the label of the cluster. An owner is its name where its UID is right.
func (h *testHub) addOns() map[string]any {
	h.t.Helper()
	managed, settings, template := &addonv1alpha1.ClusterManagementAddOn{}, &addonv1alpha1.AddOnDeploymentConfig{},
		&addonv1alpha1.AddOnTemplate{}
	installed, cluster := &addonv1beta1.ManagedClusterAddOn{}, &clusterv1.ManagedCluster{}
	for object, key := range map[client.Object]client.ObjectKey{
		managed: {Name: addOnName}, settings: {Namespace: setNamespace, Name: addOnName}, template: {Name: addOnName},
		installed: {Namespace: withToken, Name: addOnName}, cluster: {Name: withToken},
	} {
		// the manager converts once it runs
		kit.Await(h.t, "the hub has the objects of the add-on", func(ctx context.Context) error { return h.admin.Get(ctx, key, object) })
	}
	owner := types.UID("of another object")
	for _, reference := range installed.OwnerReferences {
		if reference.UID == managed.UID {
			owner = types.UID(reference.Name)
		}
	}
	return map[string]any{
		"the add-on": managed.Spec, "its progress": managed.Status, "its configuration": settings.Spec, "its template": template.Spec.AddonName,
		"its manifests": len(template.Spec.AgentSpec.Workload.Manifests), "on the cluster": installed.Spec, "its status": installed.Status,
		"its owner":            owner,
		"its namespace":        installed.Annotations[addonv1alpha1.InstallNamespaceAnnotation],
		"label of the cluster": cluster.Labels[addonv1alpha1.AddonFeatureLabelPrefix+addOnName],
	}
}

// storeProbed stores a cluster that its hub reads without an agent, and waits until it has.
func (h *testHub) storeProbed() {
	h.t.Helper()
	manifests, err := hubtest.Merge(map[string]fs.FS{
		"claims": config.MemberCRDs(),
		"probe":  os.DirFS(checkout.Path(h.t, "config/probe/member")),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	member := hubtest.New(h.t, hubtest.Options{Manifests: manifests})
	token, err := member.Client(h.t).CoreV1().ServiceAccounts(probeNamespace).CreateToken(h.t.Context(), "berth-probe",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	kubeconfig := api.NewConfig()
	kubeconfig.Clusters["member"] = &api.Cluster{
		Server:                   member.Config().Host,
		CertificateAuthorityData: hubtest.CABundle(h.t, member.Config()),
	}
	kubeconfig.AuthInfos["berth-probe"] = &api.AuthInfo{Token: token.Status.Token}
	kubeconfig.Contexts["member"] = &api.Context{Cluster: "member", AuthInfo: "berth-probe"}
	kubeconfig.CurrentContext = "member"
	text, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		h.t.Fatal(err)
	}
	cluster := kit.Cluster(probed)
	cluster.Spec.HubAcceptsClient, cluster.Spec.LeaseDurationSeconds = true, leaseSeconds
	h.admin.MustCreate(cluster, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: probeNamespace, Name: probed, Labels: map[string]string{clusterv1.ProbeClusterLabelKey: probed}},
		Data:       map[string][]byte{"kubeconfig": text},
	})
	h.awaitProbed()
}

// awaitProbed waits until the hub reads the cluster without an agent, and has renewed its lease.
func (h *testHub) awaitProbed() {
	h.t.Helper()
	var first metav1.MicroTime
	kit.Await(h.t, "the hub reads the cluster without an agent, and has renewed its lease", func(ctx context.Context) error {
		cluster, lease := &clusterv1.ManagedCluster{}, &coordinationv1.Lease{}
		if err := h.admin.Get(ctx, client.ObjectKey{Name: probed}, cluster); err != nil {
			return err
		}
		if err := h.admin.Get(ctx, client.ObjectKey{Namespace: probed, Name: clusterv1.ManagedClusterLeaseName}, lease); err != nil {
			return err
		}
		if first.IsZero() && lease.Spec.RenewTime != nil {
			first = *lease.Spec.RenewTime
		}
		for _, condition := range []string{clusterv1.ManagedClusterConditionProbed, clusterv1.ManagedClusterConditionAvailable} {
			if !meta.IsStatusConditionTrue(cluster.Status.Conditions, condition) {
				return fmt.Errorf("%s is not %s: %+v: %w", probed, condition, cluster.Status.Conditions, errNotYet)
			}
		}
		if lease.Spec.RenewTime == nil || !lease.Spec.RenewTime.After(first.Time) {
			return fmt.Errorf("the lease of %s is not renewed: %w", probed, errNotYet)
		}
		return nil
	})
}
