package work

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/remote"
)

// recordName returns the name of the record of a work.
func (c *Controller) recordName(work string) string { return c.HubHash + "-" + work }

// readRecord reads the record of a work; nil where the member has none.
func (c *Controller) readRecord(ctx context.Context, work string) (*workv1.AppliedManifestWork, error) {
	out := &workv1.AppliedManifestWork{}
	err := c.Records.Get(ctx, client.AppliedManifestWork(c.recordName(work)), out)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is a state
	}
	return out, err //nolint:wrapcheck // the client names the record
}

// writeRecord stores entries, and creates the record where it is missing.
func (c *Controller) writeRecord(ctx context.Context, work *workv1.ManifestWork, record *workv1.AppliedManifestWork,
	entries []plan.Entry,
) (*workv1.AppliedManifestWork, error) {
	if record == nil {
		policy, err := policyOf(work)
		if err != nil {
			return nil, err
		}
		maps.Copy(policy, c.marks())
		policy[workv1.RecordManagerAnnotation] = remote.Writer(c.recordName(work.Name))
		labels := map[string]string{}
		maps.Copy(labels, work.Labels)
		labels[workv1.RecordHubLabel] = hubLabel(c.HubHash)
		record = &workv1.AppliedManifestWork{
			ObjectMeta: metav1.ObjectMeta{
				Name: c.recordName(work.Name), Labels: labels, Annotations: policy,
				Finalizers: []string{workv1.AppliedManifestWorkFinalizer},
			},
			Spec: workv1.AppliedManifestWorkSpec{HubHash: c.HubHash, AgentID: c.AgentID, ManifestWorkName: work.Name},
		}
		if err := c.createRecord(ctx, record); err != nil {
			return nil, err
		}
	}
	resources := make([]workv1.AppliedManifestResourceMeta, 0, len(entries))
	for _, entry := range entries {
		resources = append(resources, metaOf(entry))
	}
	return c.patchRecord(ctx, record, map[string]any{"appliedResources": resources, "evictionStartTime": nil})
}

func (c *Controller) patchRecord(ctx context.Context, record *workv1.AppliedManifestWork,
	status map[string]any,
) (*workv1.AppliedManifestWork, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": record.UID}, "status": status})
	if err != nil {
		return nil, fmt.Errorf("encoding the record: %w", err)
	}
	out := &workv1.AppliedManifestWork{}
	return out, c.Records.PatchStatus(ctx, client.AppliedManifestWork(record.Name), patch,
		out) //nolint:wrapcheck // the client names the record
}

// deleteRecord removes the finalizer of a record, and the record.
func (c *Controller) deleteRecord(ctx context.Context, record *workv1.AppliedManifestWork) error {
	at := client.AppliedManifestWork(record.Name)
	uid := record.UID
	err := c.Records.Delete(ctx, at, &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) {
		return err //nolint:wrapcheck // the client names the record
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"finalizers":null}}`, uid)
	if err := c.Records.Patch(ctx, at, patch, &workv1.AppliedManifestWork{}); err != nil && !apierrors.IsNotFound(err) {
		return err //nolint:wrapcheck // the client names the record
	}
	return nil
}

func metaOf(entry plan.Entry) workv1.AppliedManifestResourceMeta {
	return workv1.AppliedManifestResourceMeta{
		ResourceIdentifier: workv1.ResourceIdentifier{
			Group: entry.ID.Group, Resource: entry.ID.Resource, Namespace: entry.ID.Namespace,
			Name: entry.ID.Name,
		},
		Version: entry.Version, UID: entry.UID, Adopted: entry.Adopted,
		ManifestHash: entry.Hash, FieldsHash: entry.Fields, Completed: entry.Completed,
	}
}

// entriesOf returns the entries of a record; none where there is no record.
func entriesOf(record *workv1.AppliedManifestWork) []plan.Entry {
	if record == nil {
		return nil
	}
	out := make([]plan.Entry, 0, len(record.Status.AppliedResources))
	for _, each := range record.Status.AppliedResources {
		out = append(out, plan.Entry{
			ID: object.IDOf(each), Version: each.Version, UID: each.UID, Adopted: each.Adopted,
			Hash: each.ManifestHash, Fields: each.FieldsHash, Completed: each.Completed,
		})
	}
	return out
}
