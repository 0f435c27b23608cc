package endtoend

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// planted is a part of every value of a Secret in this test, and of no name.
const planted = "pLaNtEd7731"

// TestNoValueOfASecretAppears delivers Secrets, changes them on both sides, and delivers some that the member refuses. No value appears in
// a log, an event, a status, a record, a metric, or the output of a command.
func TestNoValueOfASecretAppears(t *testing.T) {
	h := newTestHub(t, "--log-level=debug")
	h.restartManagerWith("--log-level=debug")
	found := &haystack{t: t, texts: map[string]string{}}

	h.deliver("plain")
	h.storeManifests("plain", secrets(planted+"-first"))
	h.awaitSecret("good", planted+"-first")
	h.collect(found, "after the first rollout", planted+"-diffed")
	h.driftSecret()
	h.awaitSecret("good", planted+"-first")
	h.storeManifests("plain", append2(secrets(planted+"-second"), refused()...))
	h.awaitSecret("good", planted+"-second")
	h.awaitFailures(len(refused()))
	h.collect(found, "after a failure", planted+"-diffed")
	h.stopHub()
	for _, m := range h.members {
		m.agent.Stop()
		found.add("the log of an agent", m.agent.Log())
		found.add("the log of a member", m.hub.Output())
	}
	found.add("the log of the hub", h.hub.Output())
	for _, log := range append(h.managerLogs, h.manager.Log()) {
		found.add("the log of a manager", log)
	}
	found.requireClean()
}

// secrets returns a Secret with data, and one with strings.
func secrets(value string) workv1.ManifestsTemplate {
	return manifests(
		secret("good", fmt.Sprintf(`"data":{"value":%q}`, base64.StdEncoding.EncodeToString([]byte(value)))),
		secret("text", fmt.Sprintf(`"stringData":{"value":%q}`, value)),
	)
}

// refused returns manifests that the API server of a member refuses, some with a message that repeats the value.
func refused() []workv1.Manifest {
	return manifests(
		secret("not-encoded", fmt.Sprintf(`"data":{"value":"%s?!"}`, planted)),
		secret("not-a-string", fmt.Sprintf(`"stringData":{"value":{"inner":%q}}`, planted)),
		secret("not-a-map", fmt.Sprintf(`"stringData":[%q]`, planted)),
		secret("unknown-field", fmt.Sprintf(`"value":%q,"stringData":{"value":%q}`, planted, planted)),
	).Manifests
}

func secret(name, rest string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":%q,"name":%q},%s}`, plainNamespace, name, rest)
}

func manifests(texts ...string) workv1.ManifestsTemplate {
	out := workv1.ManifestsTemplate{}
	for _, text := range texts {
		out.Manifests = append(out.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(text)}})
	}
	return out
}

func append2(to workv1.ManifestsTemplate, more ...workv1.Manifest) workv1.ManifestsTemplate {
	to.Manifests = append(to.Manifests, more...)
	return to
}

// awaitSecret waits until a Secret of every member has a value.
func (h *testHub) awaitSecret(name, value string) {
	h.t.Helper()
	for _, m := range h.members {
		kit.Await(h.t, "a Secret of every member has a value", func(ctx context.Context) error {
			stored := &corev1.Secret{}
			if err := m.Get(ctx, client.ObjectKey{Namespace: plainNamespace, Name: name}, stored); err != nil {
				return err
			}
			if string(stored.Data["value"]) != value {
				return fmt.Errorf("%s: secret %s has another value: %w", m.name, name, errNotYet)
			}
			return nil
		})
	}
}

// driftSecret changes a delivered Secret on every member.
func (h *testHub) driftSecret() {
	h.t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"stringData":{"value":%q}}`, planted+"-drift"))
	for _, m := range h.members {
		stored := &corev1.Secret{}
		stored.Namespace, stored.Name = plainNamespace, "good"
		m.MustPatch(stored, patch)
	}
}

// awaitFailures waits until every work reports failed manifests.
func (h *testHub) awaitFailures(count int) {
	h.t.Helper()
	for _, m := range h.members {
		work := kit.Work(m.name, plan.WorkName(setNamespace, "plain"))
		h.admin.AwaitObject(work, "every work reports failed manifests", func() error {
			failed := 0
			for _, manifest := range work.Status.ResourceStatus.Manifests {
				for _, condition := range manifest.Conditions {
					if condition.Type == workv1.WorkApplied && condition.Status == "False" && condition.ObservedGeneration == work.Generation {
						failed++
					}
				}
			}
			if failed != count {
				return fmt.Errorf("%d manifests of %s have failed, want %d: %w", failed, m.name, count, errNotYet)
			}
			return nil
		})
	}
}

// haystack is every text that is searched, by what it is.
type haystack struct {
	t     *testing.T
	texts map[string]string
}

func (h *haystack) add(what, text string) {
	h.t.Helper()
	if text == "" {
		h.t.Errorf("%s is empty", what)
	}
	h.texts[fmt.Sprintf("%s (%d)", what, len(h.texts))] = text
}

// requireClean searches for the planted value. It is in the specs of works, which shows that the search finds it.
func (h *haystack) requireClean() {
	h.t.Helper()
	for what, text := range h.texts {
		if at := plantedAt(text); at >= 0 {
			h.t.Errorf("%s has the value of a Secret: %s", what, text[max(0, at-300):min(len(text), at+100)])
		}
	}
}

// plantedAt returns where a text has the planted value, as it is or encoded; -1 where it has not. The encoding depends on the position
// within three bytes.
func plantedAt(text string) int {
	for offset := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + planted + "xx"))
		for _, form := range []string{planted, encoded[4 : len(encoded)-8]} {
			if at := strings.Index(text, form); at >= 0 {
				return at
			}
		}
	}
	return -1
}

// collect adds what the hub, its manager, the members and the commands show.
func (h *testHub) collect(to *haystack, when, changed string) {
	h.t.Helper()
	works, sets := &workv1.ManifestWorkList{}, &workv1alpha1.ManifestWorkReplicaSetList{}
	clusters, events := &clusterv1.ManagedClusterList{}, &corev1.EventList{}
	for _, list := range []client.ObjectList{works, sets, clusters, events} {
		h.admin.MustList(list)
	}
	for i := range works.Items {
		for _, manifest := range works.Items[i].Spec.Workload.Manifests {
			if plantedAt(string(manifest.Raw)) < 0 {
				h.t.Errorf("the search does not find the value in the manifest %s", manifest.Raw)
			}
		}
		works.Items[i].Spec, works.Items[i].ManagedFields = workv1.ManifestWorkSpec{}, nil
		to.addObject("a work "+when, works.Items[i])
	}
	for i := range sets.Items {
		sets.Items[i].Spec, sets.Items[i].ManagedFields = workv1alpha1.ManifestWorkReplicaSetSpec{}, nil
		to.addObject("a set "+when, sets.Items[i])
	}
	to.addObject("the clusters "+when, clusters)
	to.addObject("the events "+when, events)
	for _, m := range h.members {
		records, events := &workv1.AppliedManifestWorkList{}, &corev1.EventList{}
		for _, list := range []client.ObjectList{records, events} {
			m.MustList(list)
		}
		to.addObject("the records "+when, records)
		to.addObject("the events of a member "+when, events)
	}
	to.add("the metrics of the manager "+when, h.metrics(h.manager.MetricsAddress))
	for _, m := range h.members {
		to.add("the metrics of an agent "+when, h.metrics(m.metricsAddress))
	}
	h.collectCommands(to, when, changed)
}

func (h *haystack) addObject(what string, object any) {
	h.t.Helper()
	text := kit.Must(json.Marshal(object)).In(h.t)
	h.add(what, string(text))
}

// metrics reads the metrics of a manager or an agent.
func (h *testHub) metrics(address string) string {
	h.t.Helper()
	_, text, err := kit.Page(h.t.Context(), "http://"+address+"/metrics")
	kit.NoError(h.t, err)
	return text
}

// collectCommands adds the output of every command that shows deliveries. A command may fail.
func (h *testHub) collectCommands(to *haystack, when, changed string) {
	h.t.Helper()
	plugin := kit.Must(hubtest.PluginBinary()).In(h.t)
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	h.admin.MustGet(client.ObjectKey{Namespace: setNamespace, Name: "plain"}, set)
	set.APIVersion, set.Kind = workv1alpha1.SchemeGroupVersion.String(), "ManifestWorkReplicaSet"
	set.ManagedFields, set.ResourceVersion = nil, ""
	set.Spec.ManifestWorkTemplate.Workload = secrets(changed)
	text := kit.Must(json.Marshal(set)).In(h.t)
	file := filepath.Join(h.t.TempDir(), "set.yaml")
	kit.NoError(h.t, os.WriteFile(file, text, 0o600))
	for _, args := range [][]string{
		{"rollout", "status", "plain"},
		{"rollout", "status", "plain", "-o", "json"},
		{"rollout", "history", "plain"},
		{"tree"},
		{"explain", "placement", placementName},
		{"explain", "work", "plain"},
		{"diff", "-f", file},
	} {
		command := exec.CommandContext(h.t.Context(), plugin, append(args, "-n", setNamespace, "--kubeconfig", h.hub.Kubeconfig())...)
		printed, err := command.CombinedOutput()
		h.t.Logf("kubectl berth %s: %d bytes, %v", strings.Join(args, " "), len(printed), err)
		to.add("kubectl berth "+strings.Join(args, " ")+" "+when, string(printed))
	}
}
