package work

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/work/object"
)

// Annotations of a record with what its work had last, for the eviction after the hub has lost the work: the executor, who also deletes
// the objects, and which objects stay.
const (
	executorKey     = "berth-project.io/executor"
	deleteOptionKey = "berth-project.io/delete-option"
)

// maxDeleteOption bounds the annotation with the deletion policy. All annotations of an object have at most 256 KiB.
const maxDeleteOption = 32 << 10

// policyOf returns the annotations that the record of a work has. Without a policy, no object stays. A policy that is too large for an
// annotation leaves every object on the member.
func policyOf(work *workv1.ManifestWork) (map[string]string, error) {
	out := map[string]string{}
	if executor := work.Spec.Executor; executor != nil && executor.Subject.ServiceAccount != nil {
		out[executorKey] = executor.Subject.ServiceAccount.Namespace + "/" + executor.Subject.ServiceAccount.Name
	}
	of := work.Spec.DeleteOption
	if of == nil || of.PropagationPolicy == "" || of.PropagationPolicy == workv1.DeletePropagationPolicyTypeForeground {
		return out, nil
	}
	option := workv1.DeleteOption{PropagationPolicy: of.PropagationPolicy, SelectivelyOrphan: of.SelectivelyOrphan}
	text, err := json.Marshal(option)
	if err == nil && len(text) > maxDeleteOption {
		text, err = json.Marshal(workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan})
	}
	if err != nil {
		return nil, fmt.Errorf("encoding the deletion policy: %w", err)
	}
	out[deleteOptionKey] = string(text)
	return out, nil
}

// marksOf returns the annotations by which others know of whom a record is.
func (c *Controller) marksOf() map[string]string {
	return map[string]string{workv1.RecordClusterAnnotation: c.Cluster, workv1.RecordHubURLAnnotation: c.Hub.Server()}
}

// storePolicy keeps on its record the executor and the deletion policy of the work, and of which agent the record is.
func (p *pass) storePolicy() error {
	if p.record == nil {
		return nil
	}
	want, err := policyOf(p.work)
	if err != nil {
		return err
	}
	maps.Copy(want, p.controller.marksOf())
	change := map[string]any{}
	for _, key := range []string{executorKey, deleteOptionKey, workv1.RecordClusterAnnotation, workv1.RecordHubURLAnnotation} {
		is, has := p.record.Annotations[key]
		text, wanted := want[key]
		switch {
		case wanted && (!has || is != text):
			change[key] = text
		case !wanted && has:
			change[key] = nil
		}
	}
	label := hubLabel(p.controller.HubHash)
	if len(change) == 0 && p.record.Labels[workv1.RecordHubLabel] == label {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": p.record.UID, "annotations": change, "labels": map[string]any{workv1.RecordHubLabel: label},
	}})
	if err != nil {
		return fmt.Errorf("encoding the annotations of the record: %w", err)
	}
	stored := &workv1.AppliedManifestWork{}
	if err := p.controller.Records.Patch(p.ctx, client.AppliedManifestWork(p.record.Name), patch, stored); err != nil {
		return err //nolint:wrapcheck // the client names the record
	}
	p.record = stored
	return nil
}

// executorOf returns the executor on a record; nil is the agent itself.
func executorOf(record *workv1.AppliedManifestWork) *workv1.ManifestWorkExecutor {
	if record == nil {
		return nil
	}
	namespace, name, ok := strings.Cut(record.Annotations[executorKey], "/")
	if !ok {
		return nil
	}
	return &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
		Type: workv1.ExecutorSubjectTypeServiceAccount, ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{
			Namespace: namespace,
			Name:      name,
		},
	}}
}

// orphansOf returns which objects stay on the member when a record is evicted. A policy that cannot be read leaves all of them.
func orphansOf(record *workv1.AppliedManifestWork) func(object.ID) bool {
	text := ""
	if record != nil {
		text = record.Annotations[deleteOptionKey]
	}
	if text == "" {
		return object.Orphans(nil)
	}
	option := &workv1.DeleteOption{}
	if json.Unmarshal([]byte(text), option) != nil {
		option = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	}
	return object.Orphans(option)
}
