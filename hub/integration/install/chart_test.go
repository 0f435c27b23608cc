//go:build slow

package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/join"
)

// release is a chart with the values that it requires, in its namespace.
type release struct {
	chart, namespace string
	values           []string
}

func managerRelease() release {
	return release{"../../../charts/berth", "berth-system", []string{"image.repository=localhost:5001/berth/berth"}}
}

func agentRelease() release {
	return release{"../../../charts/berth-agent", join.AgentNamespace, []string{
		"image.repository=localhost:5001/berth/berth-agent", "clusterName=edge-1", "bootstrap.kubeconfig=" + bootstrap,
	}}
}

const (
	bootstrap        = "a kubeconfig"
	certManagerGroup = "cert-manager.io"
	// lookAhead is how many bytes are read to find out whether a text is YAML.
	lookAhead = 4 << 10
)

// with returns the release with further values.
func (r release) with(values ...string) release {
	r.values = slices.Concat(r.values, values)
	return r
}

// template returns the arguments that render the chart as `helm install` would, hooks included.
func (r release) template() []string {
	out := []string{"template", "berth", r.chart, "--namespace", r.namespace, "--kube-version", "1.36.0"}
	for _, value := range r.values {
		out = append(out, "--set", value)
	}
	return out
}

// helm runs Helm without a cluster and without the user's configuration.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return helmOn(t, filepath.Join(t.TempDir(), "none"), args...)
}

// helmOn runs Helm with a kubeconfig and without the user's configuration.
func helmOn(t *testing.T, kubeconfig string, args ...string) (string, error) {
	t.Helper()
	binary := kit.Must(hubtest.HelmBinary()).In(t)
	command := exec.CommandContext(t.Context(), binary, args...)
	home := t.TempDir()
	command.Env = append(os.Environ(), "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home,
		"KUBECONFIG="+kubeconfig)
	var failure bytes.Buffer
	command.Stderr = &failure
	output, err := command.Output()
	return string(output) + failure.String(), err
}

// objects renders the chart.
func (r release) objects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	output, err := helm(t, r.template()...)
	if err != nil {
		t.Fatalf("rendering the chart: %v\n%s", err, output)
	}
	var out []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(output), lookAhead); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			out = append(out, object)
		}
	}
}

func TestChartsPassHelmsLint(t *testing.T) {
	for name, r := range map[string]release{"manager": managerRelease(), "agent": agentRelease()} {
		args := append([]string{"lint", "--strict", r.chart, "--namespace", r.namespace}, r.template()[7:]...)
		if output, err := helm(t, args...); err != nil {
			t.Errorf("helm lint of the chart of the %s: %v\n%s", name, err, output)
		}
	}
}

func TestSchemasRefuseWrongValues(t *testing.T) {
	manager, agent := managerRelease(), agentRelease()
	tests := map[string]struct {
		release release
		want    string
	}{
		"no repository":                         {manager.with("image.repository="), "image.repository"},
		"a repository without a registry":       {manager.with("image.repository=berth"), "image.repository"},
		"a misspelt value":                      {manager.with("replica=3"), "replica"},
		"no replica":                            {manager.with("replicas=0"), "replicas"},
		"a probe without servers":               {manager.with("probe.enabled=true"), "probe"},
		"scores without a source":               {manager.with("scores.enabled=true"), "scores"},
		"an argument that is no flag":           {manager.with("extraArgs={workers}"), "extraArgs"},
		"a level that the manager lacks":        {manager.with("log.level=loud"), "log.level"},
		"text where a switch is":                {manager.with("views.enabled=yes"), "views.enabled"},
		"a digest that is too short":            {manager.with("image.digest=sha256:abc"), "image.digest"},
		"a port on which no server listens":     {manager.with("networkPolicy.apiServerPorts={0}"), "apiServerPorts"},
		"a taint policy that the manager lacks": {manager.with("health.taintUnjoined=maybe"), "taintUnjoined"},
		"a protection that the chart lacks":     {manager.with("protection.deletion=deny"), "protection.deletion"},
		"an agent without a cluster":            {agent.with("clusterName="), "clusterName"},
		"a cluster name that no label may be":   {agent.with("clusterName=Edge_1"), "clusterName"},
		"an agent without a bootstrap":          {agent.with("bootstrap.kubeconfig="), "bootstrap"},
		"an agent with two bootstraps":          {agent.with("bootstrap.secretName=other"), "bootstrap"},
		"a driver that the agent lacks":         {agent.with("driver=ssh"), "driver"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			output, err := helm(t, test.release.template()...)
			if err == nil || !strings.Contains(strings.ReplaceAll(output, "/", "."), test.want) {
				t.Errorf("helm template: %v, want a refusal that names %s:\n%s", err, test.want, output)
			}
		})
	}
}

func TestAReleaseInAnotherNamespaceIsRefused(t *testing.T) {
	for _, r := range []release{managerRelease(), agentRelease()} {
		want := "use --namespace " + r.namespace
		r.namespace = "default"
		if output, err := helm(t, r.template()...); err == nil || !strings.Contains(output, want) {
			t.Errorf("%s: %v, want %q in\n%s", r.chart, err, want, output)
		}
	}
}

// TestTheChartProtectsClusters compares the actions of the policies that protect clusters and their namespaces.
func TestTheChartProtectsClusters(t *testing.T) {
	for values, want := range map[string]map[string]string{
		"protection.deletion=Off":                             {},
		"protection.deletion=Deny":                            {"berth-cluster-deletion": "[Deny]", "berth-namespace-deletion": "[Deny]"},
		"protection.deletion=Warn":                            {"berth-cluster-deletion": "[Warn]", "berth-namespace-deletion": "[Warn]"},
		"protection.deletion=Deny protection.onDelete=Remove": {"berth-namespace-deletion": "[Deny]"},
	} {
		got := map[string]string{}
		for _, object := range managerRelease().with(strings.Fields(values)...).objects(t) {
			if name := object.GetName(); object.GetKind() == "ValidatingAdmissionPolicyBinding" && strings.HasSuffix(name, "-deletion") {
				actions, _, _ := unstructured.NestedStringSlice(object.Object, "spec", "validationActions")
				got[name] = fmt.Sprint(actions)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: actions (-want +got):\n%s", values, diff)
		}
	}
}

// TestTheAPIServerAcceptsCharts sends every object of the charts to a real API server, in a dry run with strict field validation.
func TestTheAPIServerAcceptsCharts(t *testing.T) {
	admin := kit.New(t, shared)
	admin.MustCreateMissing(kit.Namespace(join.AgentNamespace))
	manager, agent := managerRelease(), agentRelease()
	for name, r := range map[string]release{
		"the manager by default": manager,
		"everything on": manager.with("probe.enabled=true", "probe.allow={10.0.0.0/8}", "scores.enabled=true", "scores.secret=prometheus",
			"scores.config.sources[0].name=main", "scores.config.sources[0].url=https://127.0.0.1:9090", "scores.config.scores[0].name=cpu",
			"scores.config.scores[0].query=up",
			"profiles.enabled=true", "profiles.accessProvider=example", "inventory.enabled=true", "inventory.namespaces={fleet}",
			"kueue.enabled=true", "addons.enabled=true", "protection.deletion=Deny", "metrics.dashboard.enabled=true", "replicas=3",
			"extraArgs={--workers=8}"),
		"everything off": manager.with("registration.enabled=false", "delivery.enabled=false", "webhooks.enabled=false", "views.enabled=false",
			"metrics.enabled=false",
			"networkPolicy.enabled=false", "crds.enabled=false", "crds.protected=false"),
		"a certificate of cert-manager": manager.with("certManager.enabled=true"),
		"pinned by digest": manager.with("image.digest=sha256:"+strings.Repeat("a", 64), "imagePullSecrets[0].name=registry",
			`nodeSelector.kubernetes\.io/os=linux`),
		"the agent by default":     agent,
		"the agent with executors": agent.with("executors.default={deployer}"),
		"the agent as admin":       agent.with("profile=admin", "driver=token"),
	} {
		t.Run(name, func(t *testing.T) {
			objects := r.objects(t)
			if len(objects) < 10 {
				t.Fatalf("the chart has %d objects", len(objects))
			}
			for _, object := range objects {
				if object.GroupVersionKind().Group == certManagerGroup {
					continue // the API server lacks the definitions of cert-manager
				}
				options := []client.PatchOption{client.ForceOwnership, client.FieldOwner("chart"), client.FieldValidation(metav1.FieldValidationStrict)}
				if kind := object.GetKind(); kind != "Namespace" && kind != "ServiceAccount" { // other objects need these
					options = append(options, client.DryRunAll)
				}
				//nolint:staticcheck // a dry run of objects of any kind
				if err := admin.Patch(t.Context(), object.DeepCopy(), client.Apply, options...); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
		})
	}
}

// TestTheChartServesTheCertificateOfCertManager requires that the manager reads its certificate from the Secret that the chart requests.
func TestTheChartServesTheCertificateOfCertManager(t *testing.T) {
	deployment, requested := &appsv1.Deployment{}, map[string]string{}
	for _, object := range managerRelease().with("certManager.enabled=true").objects(t) {
		switch kind := object.GetKind(); {
		case object.GroupVersionKind().Group == certManagerGroup:
			requested[kind], _, _ = unstructured.NestedString(object.Object, "spec", "secretName")
			if object.GetNamespace() != managerRelease().namespace {
				t.Errorf("%s %s is in namespace %s", kind, object.GetName(), object.GetNamespace())
			}
		case kind == "Deployment":
			kit.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment))
		}
	}
	if diff := cmp.Diff(map[string]string{"Issuer": "", "Certificate": "berth-tls"}, requested); diff != "" {
		t.Errorf("objects of cert-manager, with the Secret (-want +got):\n%s", diff)
	}
	pod := deployment.Spec.Template.Spec
	want := []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "berth-tls"}}}}
	if diff := cmp.Diff(want, pod.Volumes); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	container := pod.Containers[0]
	if diff := cmp.Diff([]corev1.VolumeMount{{Name: "tls", MountPath: "/tls", ReadOnly: true}}, container.VolumeMounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	for _, flag := range []string{
		"--tls-cert-file=/tls/" + corev1.TLSCertKey, "--tls-private-key-file=/tls/" + corev1.TLSPrivateKeyKey,
		"--tls-ca-file=/tls/" + corev1.ServiceAccountRootCAKey,
	} {
		if !slices.Contains(container.Args, flag) {
			t.Errorf("the manager has not the flag %s: %v", flag, container.Args)
		}
	}
}

// TestTheChartOfTheAgentInstallsWhatJoinInstalls compares the objects of `kubectl berth join --image` with those that the chart makes of
// them.
func TestTheChartOfTheAgentInstallsWhatJoinInstalls(t *testing.T) {
	for _, reports := range []bool{false, true} {
		compareWithJoin(t, reports)
	}
}

func compareWithJoin(t *testing.T, reportUsage bool) {
	t.Helper()
	admin := kit.New(t, shared)
	agent := join.Agent{
		Cluster: "edge-1", Image: "localhost:5001/berth/berth-agent:v0.1.0", Driver: "csr", Bootstrap: []byte(bootstrap),
		Profile: join.ProfileAdmin, ReportUsage: reportUsage,
	}
	kit.NoError(t, agent.Install(t.Context(), shared.Config()))
	inChart := map[string]bool{}
	for _, object := range agentRelease().with("profile=admin", fmt.Sprintf("usage.report=%t", reportUsage)).objects(t) {
		inChart[object.GetKind()+" "+object.GetName()] = true
		stored := object.DeepCopy()
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(object), stored); err != nil {
			t.Errorf("join does not install %s %s: %v", object.GetKind(), object.GetName(), err)
			continue
		}
		//nolint:staticcheck // a dry run of objects of any kind
		kit.NoError(t, admin.Patch(t.Context(), object, client.Apply, client.DryRunAll, client.ForceOwnership, client.FieldOwner("chart")))
		for _, o := range []*unstructured.Unstructured{stored, object} {
			o.SetManagedFields(nil)
			o.SetGeneration(0)
			o.SetResourceVersion("")
			unstructured.RemoveNestedField(o.Object, "status")
		}
		if diff := cmp.Diff(stored.Object, object.Object); diff != "" {
			t.Errorf("%s %s of the chart is another than that of join (-join +chart):\n%s", object.GetKind(), object.GetName(), diff)
		}
	}
	checkNothingElse(t, admin, inChart)
}

// checkNothingElse requires that the chart has every object of some kinds in the namespace of the agent.
func checkNothingElse(t *testing.T, member *kit.Client, inChart map[string]bool) {
	t.Helper()
	for kind, list := range map[string]client.ObjectList{
		"Deployment": &appsv1.DeploymentList{}, "Lease": &coordinationv1.LeaseList{}, "Role": &rbacv1.RoleList{},
		"RoleBinding": &rbacv1.RoleBindingList{}, "Secret": &corev1.SecretList{},
	} {
		member.MustList(list, client.InNamespace(join.AgentNamespace))
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object, err := meta.Accessor(item)
			if err == nil && !inChart[kind+" "+object.GetName()] {
				err = fmt.Errorf("the chart lacks %s %s, which join installs", kind, object.GetName())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestPodsOfChartsAreRestricted creates the pods in a namespace that enforces the Pod Security Standard "restricted".
func TestPodsOfChartsAreRestricted(t *testing.T) {
	admin := kit.New(t, shared)
	restricted := kit.Namespace("restricted")
	restricted.Labels = map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
	admin.MustCreate(restricted)
	pods := map[string]bool{}
	for _, object := range slices.Concat(managerRelease().objects(t), agentRelease().objects(t)) {
		path := []string{"spec", "template", "spec"}
		if object.GetKind() == "Pod" {
			path = path[:1]
		}
		spec, found, err := unstructured.NestedMap(object.Object, path...)
		if err != nil || !found {
			continue
		}
		pods[object.GetName()] = true
		delete(spec, "serviceAccountName") // the account of another namespace
		pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec}}
		pod.SetNamespace(restricted.Name)
		pod.SetName(object.GetName())
		kit.Await(t, "the API server admits the pod", func(ctx context.Context) error {
			return admin.Create(ctx, pod.DeepCopy(), client.DryRunAll)
		})
	}
	want := map[string]bool{"berth": true, "berth-definitions": true, "berth-cleanup": true, "berth-test": true, "berth-agent": true}
	if diff := cmp.Diff(want, pods); diff != "" {
		t.Errorf("pods of the chart (-want +got):\n%s", diff)
	}
}
