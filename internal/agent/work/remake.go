package work

import (
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

// AllowDeleteAnnotation on a record of an agent, or on the definition of records, lets every user delete it.
const AllowDeleteAnnotation = "berth-project.io/allow-delete"

// remake replaces a record that is being deleted while its objects are to stay: by hand, or with its definition. The owner references go
// first, because the garbage collector deletes what only a record that is gone owns.
func (p *pass) remake() error {
	switch {
	case p.record != nil && p.record.DeletionTimestamp != nil:
		if err := p.releaseRecord(); err != nil {
			return err
		}
	case p.record != nil || p.state.former == nil:
		p.state.former = nil
		return nil
	}
	record, err := p.controller.restoreRecord(p.ctx, p.state.former)
	switch {
	case p.unrecorded(err):
		p.controller.undefined.look()
		p.record = nil
		return nil
	case err != nil:
		return err
	}
	p.controller.Log.Warn("the record of a work was deleted, and is made anew; its objects stay", "work", p.name, "record", record.Name)
	p.record, p.state.former = record, nil
	p.publish()
	return nil
}

// unrecorded returns whether a record could not be created because its definition is missing, or because finalizers of other clients keep
// the former record.
func (p *pass) unrecorded(err error) bool {
	return isUndefined(err) || p.state.former != nil && apierrors.IsAlreadyExists(err)
}

// releaseRecord takes the owner references off the objects of a record that is being deleted, and then the finalizer off the record.
func (p *pass) releaseRecord() error {
	p.controller.undefined.look() // its definition may be going
	for _, entry := range entriesOf(p.record) {
		if err := p.disown(entry); err != nil {
			return fmt.Errorf("the record %s is being deleted, and %s keeps its owner reference: %w", p.record.Name, entry.ID, err)
		}
	}
	p.state.former = p.record.DeepCopy()
	if slices.Contains(p.record.Finalizers, workv1.AppliedManifestWorkFinalizer) {
		rest := slices.DeleteFunc(slices.Clone(p.record.Finalizers),
			func(each string) bool { return each == workv1.AppliedManifestWorkFinalizer })
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": p.record.UID, "resourceVersion": p.record.ResourceVersion, "finalizers": rest,
		}})
		if err != nil {
			return fmt.Errorf("encoding the finalizers of the record: %w", err)
		}
		err = p.controller.Records.Patch(p.ctx, client.AppliedManifestWork(p.record.Name), patch, &workv1.AppliedManifestWork{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err //nolint:wrapcheck // the client names the record
		}
	}
	return nil
}

// disown takes the owner reference to the record off an object. The object keeps the label, and is marked as created where it was.
func (p *pass) disown(entry plan.Entry) error {
	p.readObject(entry.ID, entry.Version, p.executor())
	if failure, failed := p.unread[entry.ID]; failed {
		return fmt.Errorf("%w: %s", errUnread, failure.Message)
	}
	found := p.read[entry.ID]
	if found == nil || !slices.ContainsFunc(found.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return owner.UID == p.record.UID
	}) {
		return nil
	}
	delete(p.read, entry.ID)
	entry.UID = string(found.GetUID())
	return p.controller.Member.Disown(p.ctx, p.executor(), p.owner(), found, entry) //nolint:wrapcheck // the API server names the object
}

// entries returns the entries of the record, or of the former record, which is to be made anew.
func (p *pass) entries() []plan.Entry {
	if p.record == nil {
		return entriesOf(p.state.former)
	}
	return entriesOf(p.record)
}
