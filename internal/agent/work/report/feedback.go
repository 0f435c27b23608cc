package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/expression"
)

// maxRaw bounds a value of type String, as the definition of works bounds one of type JsonRaw.
const maxRaw = 1024

// setFeedback stores the values of the feedback rules. What could be read is reported, and the condition names what could not.
func (b *built) setFeedback(m Manifest, work Work) {
	condition := metav1.Condition{Type: workv1.ManifestStatusFeedbackSynced, Status: metav1.ConditionTrue, Reason: "NoStatusFeedbackSynced"}
	if len(m.Manifest.Settings.Feedback) == 0 {
		b.condition.StatusFeedbacks = workv1.StatusFeedbackResult{}
		setPlain(&b.condition.Conditions, condition, work.Now)
		return
	}
	if m.Object == nil {
		return // the last values stay
	}
	values, faults := work.Evaluator.feedback(m.Manifest.Settings.Feedback, m.Object)
	b.condition.StatusFeedbacks.Values = values
	if condition.Reason = workv1.ManifestStatusFeedbackSynced; len(faults) > 0 {
		condition.Status, condition.Reason = metav1.ConditionFalse, "StatusFeedbackSyncFailed"
		condition.Message = cut("Sync status feedback failed with error "+strings.Join(faults, "; "), maxManifestMessage)
	}
	setPlain(&b.condition.Conditions, condition, work.Now)
}

// feedback returns the values of rules, one for each name, and what could not be read.
func (e *Evaluator) feedback(rules []workv1.FeedbackRule, object *unstructured.Unstructured) (values []workv1.FeedbackValue,
	faults []string,
) {
	for _, path := range paths(rules, object, &faults) {
		if path.Version != "" && path.Version != object.GroupVersionKind().Version {
			faults = append(faults, fmt.Sprintf("%s: the object has the version %s, the path is for %s", path.Name,
				object.GroupVersionKind().Version, path.Version))
			continue
		}
		if slices.ContainsFunc(values, func(value workv1.FeedbackValue) bool { return value.Name == path.Name }) {
			faults = append(faults, path.Name+": an earlier rule has the same name")
			continue
		}
		value, found, err := e.value(path, object)
		if err != nil {
			faults = append(faults, path.Name+": "+err.Error())
		} else if found {
			values = append(values, workv1.FeedbackValue{Name: path.Name, Value: value})
		}
	}
	return values, faults
}

// paths returns the paths of all rules.
func paths(rules []workv1.FeedbackRule, object *unstructured.Unstructured, faults *[]string) []workv1.JSONPath {
	var out []workv1.JSONPath
	for _, rule := range rules {
		if rule.Type == "JSONPaths" {
			out = append(out, rule.JSONPaths...)
			continue
		}
		known := wellKnownPaths(object.GroupVersionKind().GroupKind().String())
		if len(known) == 0 {
			*faults = append(*faults, fmt.Sprintf("cannot find the wellknown statuses for resource with gvk %s", object.GroupVersionKind()))
		}
		for i := 0; i+1 < len(known); i += 2 {
			out = append(out, workv1.JSONPath{Name: known[i], Path: known[i+1]})
		}
	}
	return out
}

// wellKnownPaths returns names and paths, by turns.
func wellKnownPaths(kind string) []string {
	switch kind {
	case "Deployment.apps":
		return []string{
			"ReadyReplicas", ".status.readyReplicas", "Replicas", ".status.replicas", "AvailableReplicas",
			".status.availableReplicas",
		}
	case "StatefulSet.apps", "ReplicaSet.apps":
		return []string{
			"ReadyReplicas", ".status.readyReplicas", "Replicas", ".status.replicas", "AvailableReplicas",
			".status.availableReplicas",
		}
	case "DaemonSet.apps":
		return []string{
			"NumberReady", ".status.numberReady", "DesiredNumberScheduled", ".status.desiredNumberScheduled", "NumberAvailable",
			".status.numberAvailable",
		}
	case "Job.batch":
		return []string{"JobComplete", `.status.conditions[?(@.type=="Complete")].status`, "JobSucceeded", ".status.succeeded"}
	case "CronJob.batch":
		return []string{"LastScheduleTime", ".status.lastScheduleTime", "LastSuccessfulTime", ".status.lastSuccessfulTime"}
	case "Pod":
		return []string{"PodReady", `.status.conditions[?(@.type=="Ready")].status`, "PodPhase", ".status.phase"}
	case "Service":
		return []string{
			"ClusterIP", ".spec.clusterIP", "LoadBalancerIP", ".status.loadBalancer.ingress[0].ip", "LoadBalancerHostname",
			".status.loadBalancer.ingress[0].hostname",
		}
	case "PersistentVolumeClaim":
		return []string{"Phase", ".status.phase", "Capacity", ".status.capacity.storage"}
	case "HorizontalPodAutoscaler.autoscaling":
		return []string{"CurrentReplicas", ".status.currentReplicas", "DesiredReplicas", ".status.desiredReplicas"}
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return []string{"Established", `.status.conditions[?(@.type=="Established")].status`}
	default:
		return nil
	}
}

// value returns the first result of a path; false where the object has none.
func (e *Evaluator) value(path workv1.JSONPath, object *unstructured.Unstructured) (workv1.FieldValue, bool, error) {
	compiled, err := e.paths.get(path.Path, expression.JSONPath)
	if err != nil {
		return workv1.FieldValue{}, false, err
	}
	e.reading.Lock()
	results, err := compiled.AllowMissingKeys(true).FindResults(object.Object)
	e.reading.Unlock()
	if err != nil {
		return workv1.FieldValue{}, false, fmt.Errorf("reading %s: %w", path.Path, err)
	}
	if len(results) == 0 || len(results[0]) == 0 || !results[0][0].IsValid() || !results[0][0].CanInterface() {
		return workv1.FieldValue{}, false, nil
	}
	switch found := results[0][0].Interface().(type) {
	case int64:
		return workv1.FieldValue{Type: workv1.Integer, Integer: &found}, true, nil
	case bool:
		return workv1.FieldValue{Type: workv1.Boolean, Boolean: &found}, true, nil
	case float64:
		return text(strconv.FormatFloat(found, 'f', -1, 64))
	case string:
		return text(found)
	case nil:
		return workv1.FieldValue{}, false, nil
	default:
		return workv1.FieldValue{}, false, fmt.Errorf("%s is a list or an object; select one value of it",
			path.Path) //nolint:err113 // it names the path
	}
}

func text(found string) (workv1.FieldValue, bool, error) {
	if len(found) > maxRaw {
		return workv1.FieldValue{}, false, fmt.Errorf("the value has %d bytes, at most %d are reported", len(found),
			maxRaw) //nolint:err113 // it has the size
	}
	return workv1.FieldValue{Type: workv1.String, String: &found}, true, nil
}
