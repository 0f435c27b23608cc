package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/rollout"
)

func templateOf(manifests ...string) *addonv1alpha1.AddOnTemplate {
	out := &addonv1alpha1.AddOnTemplate{ObjectMeta: metav1.ObjectMeta{Name: "metrics-1"}}
	out.Spec.AddonName = "metrics"
	for _, text := range manifests {
		out.Spec.AgentSpec.Workload.Manifests = append(out.Spec.AgentSpec.Workload.Manifests,
			workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(text)}})
	}
	return out
}

func onCluster() *addonv1alpha1.ManagedClusterAddOn {
	out := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "metrics", UID: "u", Generation: 1}}
	out.Spec.InstallNamespace = "agents"
	return out
}

func TestRender(t *testing.T) {
	config := func(change func(spec *addonv1alpha1.AddOnDeploymentConfigSpec)) *addonv1alpha1.AddOnDeploymentConfig {
		out := &addonv1alpha1.AddOnDeploymentConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "base"}}
		change(&out.Spec)
		return out
	}
	variables := func(pairs ...string) *addonv1alpha1.AddOnDeploymentConfig {
		return config(func(spec *addonv1alpha1.AddOnDeploymentConfigSpec) {
			for i := 0; i < len(pairs); i += 2 {
				spec.CustomizedVariables = append(spec.CustomizedVariables, addonv1alpha1.CustomizedVariable{Name: pairs[i], Value: pairs[i+1]})
			}
		})
	}
	deployment := `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":{"containers":[{"image":"quay.example/team/agent:1"}]}}}}`
	for sentence, test := range map[string]struct {
		manifest string
		config   *addonv1alpha1.AddOnDeploymentConfig
		want     string // empty for an error with text
		err      string
	}{
		"the variables of every template": {`{"a":"{{CLUSTER_NAME}} in {{INSTALL_NAMESPACE}}"}`, variables(), `{"a":"edge in agents"}`, ""},
		"a variable of a configuration":   {`{"a":["x{{V}}y"]}`, variables("V", "1"), `{"a":["x1y"]}`, ""},
		"the later of two values":         {`{"a":"{{V}}"}`, variables("V", "1", "V", "2"), `{"a":"2"}`, ""},
		"no configuration renames":        {`{"a":"{{CLUSTER_NAME}}"}`, variables("CLUSTER_NAME", "other"), `{"a":"edge"}`, ""},
		"an unknown variable stays":       {`{"a":"{{ $labels.x }} {{NONE}}"}`, variables(), `{"a":"{{ $labels.x }} {{NONE}}"}`, ""},
		"a value adds no field":           {`{"a":"{{V}}"}`, variables("V", `","b":"c`), `{"a":"\",\"b\":\"c"}`, ""},
		"a value is not read again":       {`{"a":"{{V}}"}`, variables("V", "{{V}}{{V}}"), `{"a":"{{V}}{{V}}"}`, ""},
		"keys are not replaced":           {`{"{{V}}":12345678901234567890}`, variables("V", "k"), `{"{{V}}":12345678901234567890}`, ""},
		"the namespace of the agent": {`{"a":"{{INSTALL_NAMESPACE}}"}`, config(func(spec *addonv1alpha1.AddOnDeploymentConfigSpec) {
			spec.AgentInstallNamespace = "own"
		}), `{"a":"own"}`, ""},
		"a mirror": {deployment, config(func(spec *addonv1alpha1.AddOnDeploymentConfigSpec) {
			spec.Registries = []addonv1alpha1.ImageMirror{{Source: "quay.example/team", Mirror: "mirror.example/x"}}
		}), strings.Replace(deployment, "quay.example/team", "mirror.example/x", 1), ""},
		"a mirror of all": {deployment, config(func(spec *addonv1alpha1.AddOnDeploymentConfigSpec) {
			spec.Registries = []addonv1alpha1.ImageMirror{{Mirror: "mirror.example/x"}}
		}), strings.Replace(deployment, "quay.example/team", "mirror.example/x", 1), ""},
		"nodes": {
			deployment, config(func(spec *addonv1alpha1.AddOnDeploymentConfigSpec) {
				spec.NodePlacement = &addonv1alpha1.NodePlacement{
					NodeSelector: map[string]string{"a": "b"},
					Tolerations:  []corev1.Toleration{{Key: "k"}},
				}
			}),
			`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":{"containers":[{"image":"quay.example/team/agent:1"}],"nodeSelector":{"a":"b"},"tolerations":[{"key":"k"}]}}}}`, "",
		},
		"a proxy": {deployment, config(func(spec *addonv1alpha1.AddOnDeploymentConfigSpec) {
			spec.ProxyConfig.HTTPProxy = "http://proxy.example"
		}), "", "fleet/base sets proxyConfig"},
		"a mirror of one repository": {deployment, config(func(spec *addonv1alpha1.AddOnDeploymentConfigSpec) {
			spec.Registries = []addonv1alpha1.ImageMirror{
				{Source: "quay.example/team/agent", Mirror: "mirror.example/x/y"},
				{Source: "quay.example/te", Mirror: "wrong"},
			}
		}), strings.Replace(deployment, "quay.example/team/agent", "mirror.example/x/y", 1), ""},
		"a name without a value":      {`{"metadata":{"name":"agent-{{ENV}}"}}`, variables(), "", "agent-{{ENV}}: the variable has no value"},
		"a namespace without a value": {`{"metadata":{"namespace":"{{NS}}"}}`, variables(), "", "{{NS}}: the variable has no value"},
		"a hook of another manager": {
			`{"kind":"Job","metadata":{"annotations":{"addon.open-cluster-management.io/addon-pre-delete":""}}}`,
			variables(), "", "addon-pre-delete is not supported",
		},
		"an object that stays": {
			`{"metadata":{"annotations":{"addon.open-cluster-management.io/deletion-orphan":""}}}`, variables(), "",
			"deletion-orphan is not supported",
		},
		"no JSON":         {`{`, variables(), "", "manifest 0 of AddOnTemplate metrics-1"},
		"too many values": {`{"a":"` + strings.Repeat("{{V}}", 2000) + `"}`, variables("V", strings.Repeat("x", 1024)), "", "1 MiB"},
		"too deep":        {`{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, variables(), "", "nested"},
	} {
		t.Run(sentence, func(t *testing.T) {
			out, err := plan.Render(onCluster(), templateOf(test.manifest), []*addonv1alpha1.AddOnDeploymentConfig{test.config})
			if test.want == "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(out.Spec.Workload.Manifests[0].Raw); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
	finishes := templateOf()
	finishes.Spec.AgentSpec.DeleteOption = &workv1.DeleteOption{TTLSecondsAfterFinished: new(int64(0))}
	if out, err := plan.Render(onCluster(), finishes, nil); err != nil || out.Spec.DeleteOption.TTLSecondsAfterFinished != nil {
		t.Errorf("a work that would be deleted and created for ever: %+v, %v", out.Spec, err)
	}
	identity := templateOf()
	identity.Spec.Registration = []addonv1alpha1.RegistrationSpec{{Type: "KubeClient"}}
	if _, err := plan.Render(onCluster(), identity, nil); err == nil || !strings.Contains(err.Error(), "spec.registration is not supported") {
		t.Errorf("a template with an identity: %v", err)
	}
	other := templateOf()
	other.Spec.AddonName = "other"
	if _, err := plan.Render(onCluster(), other, nil); err == nil || !strings.Contains(err.Error(), `of the add-on "other"`) {
		t.Errorf("a template of another add-on: %v", err)
	}
}

// TestTheReportOfAWork holds what an add-on with a template reports for each state of its work.
func TestTheReportOfAWork(t *testing.T) {
	for sentence, test := range map[string]struct {
		conditions, want string
		state            rollout.State
	}{
		"nothing is reported": {
			"", "Available=Unknown/WorkNotApplied Progressing=True/Progressing applied=false",
			rollout.StateProgressing,
		},
		"it is applied": {
			"Applied=True Available=False",
			"Available=False/ProbeUnavailable Progressing=True/Progressing applied=false", rollout.StateProgressing,
		},
		"its health is not reported": {
			"Applied=True Available=Unknown",
			"Available=Unknown/NoProbeResult Progressing=True/Progressing applied=false", rollout.StateProgressing,
		},
		"it is healthy": {
			"Applied=True Available=True", "Available=True/ProbeAvailable Progressing=False/Completed applied=true",
			rollout.StateSucceeded,
		},
		"it cannot be applied": {
			"Applied=False", "Available=False/WorkApplyFailed Progressing=False/Failed applied=false",
			rollout.StateFailed,
		},
		"it degrades while it rolls": {
			"Applied=True Available=True Degraded=True",
			"Available=False/ProbeUnavailable Progressing=False/Failed applied=false", rollout.StateFailed,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			addOn, work := onCluster(), &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: plan.WorkName("metrics")}}
			addOn.Status.ConfigReferences = []addonv1alpha1.ConfigReference{{DesiredConfig: &addonv1alpha1.ConfigSpecHash{SpecHash: "1"}}}
			addOn.Status.Conditions = []metav1.Condition{{Type: "Progressing", Status: metav1.ConditionTrue, Reason: "Progressing"}}
			for text := range strings.FieldsSeq(test.conditions) {
				kind, status, _ := strings.Cut(text, "=")
				work.Status.Conditions = append(work.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status)})
			}
			own(work, addOn)
			out := plan.TemplateReport(plan.OnCluster{AddOn: addOn, Work: work, Now: time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)}, test.state,
				"agents")
			var got []string
			for _, kind := range []string{"Available", "Progressing"} {
				condition := meta.FindStatusCondition(out.Conditions, kind)
				got = append(got, kind+"="+string(condition.Status)+"/"+condition.Reason)
			}
			applied := "applied=false"
			if last := out.ConfigReferences[0].LastAppliedConfig; last != nil && last.SpecHash == "1" {
				applied = "applied=true"
			}
			if text := strings.Join(append(got, applied), " "); text != test.want || out.Namespace != "agents" ||
				out.HealthCheck.Mode != "Customized" {
				t.Errorf("%s, want %s", text, test.want)
			}
		})
	}
}

// TestTheReportOverTime follows an add-on whose work is healthy, cannot be read, fails, recovers and returns to former content.
func TestTheReportOverTime(t *testing.T) {
	addOn, work := onCluster(), &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: plan.WorkName("metrics"), Generation: 1}}
	addOn.Status.ConfigReferences = []addonv1alpha1.ConfigReference{{DesiredConfig: &addonv1alpha1.ConfigSpecHash{SpecHash: "1"}}}
	own(work, addOn)
	now, lost := time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC), (*metav1.Condition)(nil)
	step := func(sentence string, state rollout.State, available, degraded metav1.ConditionStatus, want string) {
		t.Helper()
		now = now.Add(time.Minute)
		for kind, status := range map[string]metav1.ConditionStatus{
			workv1.WorkApplied: metav1.ConditionTrue, workv1.WorkAvailable: available,
			workv1.WorkDegraded: degraded,
		} {
			meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{Type: kind, Status: status, ObservedGeneration: 1})
		}
		addOn.Status = *plan.TemplateReport(plan.OnCluster{AddOn: addOn, Work: work, Lost: lost, Now: now}, state, "agents")
		is := meta.FindStatusCondition(addOn.Status.Conditions, "Available")
		progress := meta.FindStatusCondition(addOn.Status.Conditions, "Progressing")
		if got := fmt.Sprintf("%s, %s since 10:%02d", is.Status, progress.Reason, progress.LastTransitionTime.Minute()); got != want {
			t.Errorf("%s: %s, want %s", sentence, got, want)
		}
	}
	step("it fails at first", rollout.StateFailed, metav1.ConditionFalse, metav1.ConditionTrue, "False, Failed since 10:01")
	step("it fails on", rollout.StateFailed, metav1.ConditionFalse, metav1.ConditionTrue, "False, Failed since 10:01")
	step("it is healthy, and soaks from then on", rollout.StateSucceeded, metav1.ConditionTrue, metav1.ConditionFalse,
		"True, Completed since 10:03")
	step("it cannot be read", rollout.StateProgressing, metav1.ConditionUnknown, metav1.ConditionFalse, "True, Completed since 10:03")
	step("it degrades later", rollout.StateFailed, metav1.ConditionTrue, metav1.ConditionTrue, "False, Completed since 10:03")
	lost = &metav1.Condition{Type: "Available", Status: metav1.ConditionUnknown, Reason: "LeaseStopped"}
	step("its cluster is silent", rollout.StateSucceeded, metav1.ConditionTrue, metav1.ConditionFalse, "Unknown, Completed since 10:03")
	lost = nil
	step("its cluster returns", rollout.StateSucceeded, metav1.ConditionTrue, metav1.ConditionFalse, "True, Completed since 10:03")
	work.Generation = 2
	step("it returns to former content", rollout.StateProgressing, metav1.ConditionTrue, metav1.ConditionFalse,
		"True, Progressing since 10:08")
}

// own gives a work the marks of a rendering for an add-on.
func own(work *workv1.ManifestWork, addOn *addonv1alpha1.ManagedClusterAddOn) {
	work.Annotations = map[string]string{workv1.TemplateHashAnnotation: "x"}
	work.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(addOn, addonv1alpha1.GroupVersion.WithKind("ManagedClusterAddOn"))}
}

// TestTheHealthOfWhatRunsIsReported degrades the work of an add-on whose template has a mistake, is named by nothing, or is gone. Without
// the work, the health is by Lease again.
func TestTheHealthOfWhatRunsIsReported(t *testing.T) {
	for sentence, status := range map[string]func(plan.OnCluster) *addonv1alpha1.ManagedClusterAddOnStatus{
		"a mistake": func(on plan.OnCluster) *addonv1alpha1.ManagedClusterAddOnStatus {
			return plan.TemplateFailed(on, "a mistake")
		},
		"not named":      plan.NotNamed,
		"another object": plan.TemplateHealth,
		"no template":    plan.WithoutTemplate,
	} {
		on := plan.OnCluster{
			AddOn: onCluster(), Work: &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "w", Generation: 1}},
			Now: time.Now(),
		}
		own(on.Work, on.AddOn)
		on.Work.Status.Conditions = []metav1.Condition{
			{Type: workv1.WorkApplied, Status: metav1.ConditionTrue},
			{Type: workv1.WorkDegraded, Status: metav1.ConditionTrue},
		}
		out := status(on)
		if !meta.IsStatusConditionFalse(out.Conditions, "Available") || out.HealthCheck.Mode != addonv1alpha1.HealthCheckModeCustomized {
			t.Errorf("%s: %+v by %s, want the health of the work", sentence, out.Conditions, out.HealthCheck.Mode)
		}
		on.AddOn.Status, on.Work = *out, nil
		meta.SetStatusCondition(&on.AddOn.Status.Conditions, metav1.Condition{
			Type: "TemplateDelivered", Status: metav1.ConditionTrue,
			Reason: "Delivered",
		})
		gone := plan.WithoutTemplate(on)
		if len(gone.Conditions) > 1 || meta.FindStatusCondition(gone.Conditions, "Available") != nil ||
			gone.HealthCheck.Mode != addonv1alpha1.HealthCheckModeLease {
			t.Errorf("%s, and the work is gone: %+v by %s, want the health by Lease", sentence, gone.Conditions, gone.HealthCheck.Mode)
		}
	}
	program := plan.OnCluster{AddOn: onCluster(), Now: time.Now()}
	program.AddOn.Status.HealthCheck.Mode = addonv1alpha1.HealthCheckModeCustomized
	program.AddOn.Status.Conditions = []metav1.Condition{{Type: "Available", Status: metav1.ConditionTrue, Reason: "ProbeAvailable"}}
	if out := plan.WithoutTemplate(program); len(out.Conditions) != 1 || out.HealthCheck.Mode != addonv1alpha1.HealthCheckModeCustomized {
		t.Errorf("an add-on with its own program: %+v", out)
	}
	failed := plan.TemplateFailed(plan.OnCluster{AddOn: onCluster(), Now: time.Now()}, "a mistake")
	if failed.HealthCheck.Mode != "" {
		t.Errorf("without a work, the health is by %s, want by Lease", failed.HealthCheck.Mode)
	}
}

// TestNamesConfigs holds that what only the status of an add-on names is not delivered.
func TestNamesConfigs(t *testing.T) {
	kind := addonv1alpha1.ConfigGroupResource{Group: addonv1alpha1.GroupName, Resource: "addondeploymentconfigs"}
	of, addOn := &addonv1alpha1.ClusterManagementAddOn{}, onCluster()
	of.Spec.SupportedConfigs = []addonv1alpha1.ConfigMeta{{
		ConfigGroupResource: kind,
		DefaultConfig:       &addonv1alpha1.ConfigReferent{Namespace: "fleet", Name: "base"},
	}}
	for name, want := range map[string]bool{"base": true, "planted": false} {
		addOn.Status.ConfigReferences = []addonv1alpha1.ConfigReference{{ConfigGroupResource: kind, DesiredConfig: &addonv1alpha1.ConfigSpecHash{
			ConfigReferent: addonv1alpha1.ConfigReferent{Namespace: "fleet", Name: name}, SpecHash: "1",
		}}}
		if got := plan.NamesConfigs(of, addOn); got != want {
			t.Errorf("%s is named: %t, want %t", name, got, want)
		}
	}
}

// TestTheTemplateOfAnAddOn holds which configurations a template reads.
func TestTheTemplateOfAnAddOn(t *testing.T) {
	reference := func(resource, name string) addonv1alpha1.ConfigReference {
		out := addonv1alpha1.ConfigReference{ConfigGroupResource: addonv1alpha1.ConfigGroupResource{
			Group:    addonv1alpha1.GroupName,
			Resource: resource,
		}}
		out.Name = name
		out.DesiredConfig = &addonv1alpha1.ConfigSpecHash{ConfigReferent: out.ConfigReferent, SpecHash: "1"}
		return out
	}
	template, config := reference("addontemplates", "one"), reference("addondeploymentconfigs", "base")
	for sentence, test := range map[string]struct {
		references []addonv1alpha1.ConfigReference
		want, err  string
	}{
		"a template and a configuration": {[]addonv1alpha1.ConfigReference{config, template}, "one", ""},
		"no template":                    {[]addonv1alpha1.ConfigReference{config, reference("others", "x")}, "", ""},
		"two templates": {
			[]addonv1alpha1.ConfigReference{template, reference("addontemplates", "two")},
			"one",
			"addontemplates two",
		},
		"another kind": {[]addonv1alpha1.ConfigReference{template, reference("others", "x")}, "one", "others x"},
	} {
		addOn := onCluster()
		addOn.Status.ConfigReferences = test.references
		desired, err := plan.DesiredTemplate(addOn)
		if got := desired; (got == nil) != (test.want == "") || got != nil && got.Name != test.want || (err == nil) != (test.err == "") ||
			err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %+v, %v", sentence, desired, err)
		}
	}
}
