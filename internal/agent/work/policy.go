package work

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"

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

// storePolicy keeps the executor and the deletion policy of the work on its record.
func (p *pass) storePolicy() error {
	if p.record == nil {
		return nil
	}
	want, err := policyOf(p.work)
	if err != nil {
		return err
	}
	change := changed(p.record.Annotations, want, executorKey, deleteOptionKey)
	if len(change) == 0 {
		return nil
	}
	return p.patchMetadata(map[string]any{"annotations": change})
}

// changed returns which annotations a record must get, with nil for those that it must lose.
func changed(is, want map[string]string, keys ...string) map[string]any {
	out := map[string]any{}
	for _, key := range keys {
		before, has := is[key]
		text, wanted := want[key]
		switch {
		case wanted && (!has || before != text):
			out[key] = text
		case !wanted && has:
			out[key] = nil
		}
	}
	return out
}

// patchMetadata merges labels and annotations into the record.
func (p *pass) patchMetadata(metadata map[string]any) error {
	stored, err := p.controller.patchMetadata(p.ctx, p.record, metadata)
	if err == nil {
		p.record = stored
	}
	return err
}

// patchMetadata merges labels and annotations into a record, and returns the record as it is stored.
func (c *Controller) patchMetadata(ctx context.Context, record *workv1.AppliedManifestWork, metadata map[string]any) (
	*workv1.AppliedManifestWork, error,
) {
	metadata["uid"] = record.UID
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encoding the metadata of the record: %w", err)
	}
	stored := &workv1.AppliedManifestWork{}
	return stored, c.Records.Patch(ctx, client.AppliedManifestWork(record.Name), patch, stored) //nolint:wrapcheck // it names the record
}

// marks returns the annotations that name the agent of a record. The user is left out where the member has not returned it.
func (c *Controller) marks() map[string]string {
	out := map[string]string{workv1.RecordClusterAnnotation: c.Cluster, workv1.RecordHubURLAnnotation: c.Hub.Server()}
	if c.account != "" {
		out[workv1.RecordAgentAnnotation] = c.account
	}
	return out
}

// ofOtherCluster returns whether the record is of another cluster of the hub, whose agent runs on the same member, or did.
func (p *pass) ofOtherCluster() bool {
	of := p.record.Annotations[workv1.RecordClusterAnnotation]
	return of != "" && of != p.controller.Cluster
}

// sign keeps the marks of the agent on the record. The policies of the member let no other user delete it. What this cluster does not
// deliver is left to the other cluster that it names.
func (p *pass) sign() error {
	if p.record == nil || p.work == nil && p.ofOtherCluster() {
		return nil
	}
	change := changed(p.record.Annotations, p.controller.marks(), workv1.RecordClusterAnnotation, workv1.RecordHubURLAnnotation,
		workv1.RecordAgentAnnotation)
	label := hubLabel(p.controller.HubHash)
	if len(change) == 0 && p.record.Labels[workv1.RecordHubLabel] == label {
		return nil
	}
	return p.patchMetadata(map[string]any{"annotations": change, "labels": map[string]any{workv1.RecordHubLabel: label}})
}

// readAccount reads the user of the agent on the member. Members before Kubernetes 1.28 do not serve it.
func (c *Controller) readAccount(ctx context.Context) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Records.Create(ctx, client.SelfSubjectReview(), &authenticationv1.SelfSubjectReview{}, review); err != nil {
		c.Log.Warn("the member does not return the user of the agent: the policies of the member do not protect its records", "error", err)
	}
	c.account = review.Status.UserInfo.Username
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
