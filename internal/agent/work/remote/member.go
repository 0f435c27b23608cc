// Package remote reads and writes the objects of works on the member.
//
// It owns the marks on these objects: the label of the record, the owner reference to it, and the field managers. It decides nothing. The
// invariants: a delete and a release have the UID as precondition; an object that is adopted or stays without its work never gets an owner
// reference, because the garbage collector would delete it with the record.
package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

// maxExecutors bounds the clients that are kept for executors.
const maxExecutors = 64

// Member is the API server of a member. It is safe for concurrent use.
type Member struct {
	config   *rest.Config
	own      dynamic.Interface
	metadata metadata.Interface
	kinds    *kinds

	mu        sync.Mutex
	executors map[string]dynamic.Interface
}

// New returns a member. It sends no request. A configuration without a rate has no limit.
func New(config *rest.Config, c clock.PassiveClock) (*Member, error) {
	config = rest.CopyConfig(config)
	config.Timeout = client.RequestTimeout
	if config.QPS == 0 {
		config.QPS = -1
	}
	reader, err := client.New(config)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the server
	}
	own, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing requests to the member: %w", err)
	}
	watching := rest.CopyConfig(config)
	watching.Timeout = 0
	headers, err := metadata.NewForConfig(watching)
	if err != nil {
		return nil, fmt.Errorf("preparing watches of the member: %w", err)
	}
	return &Member{
		config: config, own: own, metadata: headers, kinds: &kinds{member: reader, clock: c, read: map[schema.GroupVersion]*served{}},
		executors: map[string]dynamic.Interface{},
	}, nil
}

// Resource returns the resource of a kind. A kind that the member does not serve is an object.UnknownKindError.
func (m *Member) Resource(ctx context.Context, kind schema.GroupVersionKind) (name string, namespaced bool, err error) {
	return m.kinds.resource(ctx, kind)
}

// Get reads an object as an executor; nil is the agent itself.
func (m *Member) Get(ctx context.Context, executor *workv1.ManifestWorkExecutor, id object.ID,
	version string,
) (*unstructured.Unstructured, error) {
	as, err := m.as(executor)
	if err != nil {
		return nil, err
	}
	return at(as, id, version).Get(ctx, id.Name, metav1.GetOptions{}) //nolint:wrapcheck // the API server names the object
}

// Record is the record of a work, as the marks of its objects name it.
type Record struct {
	Name string
	UID  types.UID
}

// Label returns the value of the label of a record.
func Label(record string) string { return shortHash(record, 16) }

// Writer returns the field manager of a record, or of a work without one on its record.
func Writer(name string) string { return "work-agent-" + shortHash(name, 8) }

// Manager returns the field manager with which a work writes an object. A manifest without a field manager has writer.
func Manager(writer string, m *object.Manifest) string {
	if apply := m.Settings.Strategy.ServerSideApply; m.Settings.Strategy.Type == object.ServerSideApply {
		if apply != nil && apply.FieldManager != "" {
			return apply.FieldManager
		}
		return "work-agent"
	}
	return writer
}

func shortHash(text string, length int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:length]
}

// Apply creates or changes an object as the executor of the work, with the field manager writer, and returns what was stored. live is the
// object before; nil where it does not exist.
func (m *Member) Apply(
	ctx context.Context, executor *workv1.ManifestWorkExecutor, writer string, record Record, call plan.Call, live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	as, err := m.as(executor)
	if err != nil {
		return nil, err
	}
	to, manager := at(as, call.Entry.ID, call.Entry.Version), Manager(writer, call.Manifest)
	body, err := bodyOf(ctx, record, call, live, manager)
	if err != nil {
		return nil, err
	}
	strategy := call.Manifest.Settings.Strategy
	if strategy.Type == object.CreateOnly && !call.Create {
		return mark(ctx, to, record, live, call, manager)
	}
	if strategy.Type == object.CreateOnly {
		return to.Create(ctx, body, metav1.CreateOptions{FieldManager: manager}) //nolint:wrapcheck // the API server names the object
	}
	force := strategy.Type == object.Update || strategy.ServerSideApply != nil && strategy.ServerSideApply.Force
	if !call.Create {
		body.SetUID(types.UID(call.Entry.UID)) // another object of this name is not changed
		if err := migrate(ctx, to, live, manager); err != nil {
			return nil, err
		}
	}
	return to.Apply(ctx, body.GetName(), body, metav1.ApplyOptions{
		FieldManager: manager,
		Force:        force,
	}) //nolint:wrapcheck // the API server names the object
}

// bodyOf returns what to store: the manifest with the marks of the record, and without changes of the fields to ignore.
func bodyOf(ctx context.Context, record Record, call plan.Call, live *unstructured.Unstructured,
	manager string,
) (*unstructured.Unstructured, error) {
	body := call.Manifest.Object.DeepCopy()
	if apply := call.Manifest.Settings.Strategy.ServerSideApply; apply != nil && live != nil {
		repair := call.Entry.Hash == call.Manifest.Hash
		if err := keepIgnored(ctx, body, live, apply.IgnoreFields, repair, manager); err != nil {
			return nil, err
		}
	}
	if call.Label {
		labels := maps.Clone(body.GetLabels())
		if labels == nil {
			labels = map[string]string{}
		}
		labels[workv1.RecordLabel] = Label(record.Name)
		body.SetLabels(labels)
	}
	if call.Own {
		body.SetOwnerReferences([]metav1.OwnerReference{reference(record)})
	}
	keepMarks(body, live, record, manager)
	return body, nil
}

// keepMarks keeps the marks of other records that the same field manager put on an object: an apply without them would take them away, and
// the agents would contend for them. It must not put marks back that another agent has taken off since live was read.
func keepMarks(body, live *unstructured.Unstructured, record Record, manager string) {
	if live == nil {
		return
	}
	managed := setOf(Managed(live, manager))
	owners, kept := body.GetOwnerReferences(), false
	for _, owner := range live.GetOwnerReferences() {
		of := reference(record)
		path := fieldpath.MakePathOrDie("metadata", "ownerReferences", fieldpath.KeyByFields("uid", string(owner.UID)))
		if owner.APIVersion == of.APIVersion && owner.Kind == of.Kind && owner.Name != of.Name && managed.Has(path) {
			owners, kept = append(owners, owner), true
		}
	}
	labels, label := body.GetLabels(), live.GetLabels()[workv1.RecordLabel]
	if labels[workv1.RecordLabel] == "" && label != "" && label != Label(record.Name) &&
		managed.Has(fieldpath.MakePathOrDie("metadata", "labels", workv1.RecordLabel)) {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[workv1.RecordLabel], kept = label, true
	}
	if kept {
		body.SetOwnerReferences(owners)
		body.SetLabels(labels)
		body.SetResourceVersion(live.GetResourceVersion())
	}
}

func reference(record Record) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: workv1.SchemeGroupVersion.String(), Kind: "AppliedManifestWork", Name: record.Name, UID: record.UID,
	}
}

// Delete deletes an object as an executor, and what the object owns in the background.
func (m *Member) Delete(ctx context.Context, executor *workv1.ManifestWorkExecutor, entry plan.Entry) error {
	as, err := m.as(executor)
	if err != nil {
		return err
	}
	uid, propagation := types.UID(entry.UID), metav1.DeletePropagationBackground
	return at(as, entry.ID, entry.Version).Delete(ctx, entry.ID.Name,
		metav1.DeleteOptions{ //nolint:wrapcheck // the API server names the object
			Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &propagation,
		})
}

// mark puts the marks of a record on an object, and changes nothing else. It merges: an apply would take back what the manager applied
// before.
func mark(
	ctx context.Context, to dynamic.ResourceInterface, record Record, live *unstructured.Unstructured, call plan.Call, manager string,
) (*unstructured.Unstructured, error) {
	header := map[string]any{"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion()}
	if call.Own {
		header["ownerReferences"] = append(slices.Clone(live.GetOwnerReferences()), reference(record))
	}
	if call.Label {
		header["labels"] = map[string]any{workv1.RecordLabel: Label(record.Name)}
	}
	return patchHeader(ctx, to, live.GetName(), header, manager)
}

// patchHeader merges fields into the metadata of an object.
func patchHeader(
	ctx context.Context, to dynamic.ResourceInterface, name string, header map[string]any, manager string,
) (*unstructured.Unstructured, error) {
	patch, err := json.Marshal(map[string]any{"metadata": header})
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return to.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{
		FieldManager: manager,
	}) //nolint:wrapcheck // the API server names the object
}

// Release takes the marks of a record off an object, as an executor. With a successor, the label names the successor's record.
func (m *Member) Release(
	ctx context.Context, executor *workv1.ManifestWorkExecutor, record Record, found *unstructured.Unstructured, entry plan.Entry,
	successor string,
) error {
	as, err := m.as(executor)
	if err != nil {
		return err
	}
	owners := ownersWithout(found, record)
	var label any
	if successor != "" {
		label = Label(successor)
	}
	header := map[string]any{"uid": found.GetUID(), "resourceVersion": found.GetResourceVersion(), "ownerReferences": owners}
	if _, has := found.GetAnnotations()[CreatedByAnnotation]; has {
		header["annotations"] = map[string]any{CreatedByAnnotation: nil}
	}
	if found.GetLabels()[workv1.RecordLabel] == Label(record.Name) {
		header["labels"] = map[string]any{workv1.RecordLabel: label}
	}
	_, err = patchHeader(ctx, at(as, entry.ID, entry.Version), entry.ID.Name, header, updateManager)
	return err
}

// CreatedByAnnotation is on an object without an owner reference that a work created: its record was being deleted. Its value is the label
// of the record, which may be made anew.
const CreatedByAnnotation = "berth-project.io/created-by"

// Disown takes the owner reference to a record off an object, as an executor. The label stays. An object that the work created is marked,
// so that the record that is made anew finds it.
func (m *Member) Disown(
	ctx context.Context, executor *workv1.ManifestWorkExecutor, record Record, found *unstructured.Unstructured, entry plan.Entry,
) error {
	as, err := m.as(executor)
	if err != nil {
		return err
	}
	header := map[string]any{
		"uid": found.GetUID(), "resourceVersion": found.GetResourceVersion(), "ownerReferences": ownersWithout(found, record),
	}
	if !entry.Adopted {
		header["annotations"] = map[string]any{CreatedByAnnotation: Label(record.Name)}
	}
	_, err = patchHeader(ctx, at(as, entry.ID, entry.Version), entry.ID.Name, header, updateManager)
	return err
}

// ownersWithout returns the owners of an object without a record.
func ownersWithout(found *unstructured.Unstructured, record Record) []metav1.OwnerReference {
	owners := make([]metav1.OwnerReference, 0, len(found.GetOwnerReferences()))
	for _, owner := range found.GetOwnerReferences() {
		if owner.UID != record.UID {
			owners = append(owners, owner)
		}
	}
	return owners
}

// as returns a client with the identity of an executor; nil is the agent itself.
func (m *Member) as(executor *workv1.ManifestWorkExecutor) (dynamic.Interface, error) {
	if executor == nil || executor.Subject.ServiceAccount == nil {
		return m.own, nil
	}
	user := userOf(executor)
	m.mu.Lock()
	defer m.mu.Unlock()
	if found := m.executors[user]; found != nil {
		return found, nil
	}
	out, err := dynamic.NewForConfig(m.configOf(executor))
	if err != nil {
		return nil, fmt.Errorf("preparing requests as %s: %w", user, err)
	}
	if len(m.executors) >= maxExecutors {
		clear(m.executors)
	}
	m.executors[user] = out
	return out, nil
}

// configOf returns how to connect with the identity of an executor; nil is the agent itself.
func (m *Member) configOf(executor *workv1.ManifestWorkExecutor) *rest.Config {
	config := rest.CopyConfig(m.config)
	if executor != nil && executor.Subject.ServiceAccount != nil {
		config.Impersonate = rest.ImpersonationConfig{UserName: userOf(executor)}
	}
	return config
}

func userOf(executor *workv1.ManifestWorkExecutor) string {
	return "system:serviceaccount:" + executor.Subject.ServiceAccount.Namespace + ":" + executor.Subject.ServiceAccount.Name
}

func at(to dynamic.Interface, id object.ID, version string) dynamic.ResourceInterface {
	resource := to.Resource(schema.GroupVersionResource{Group: id.Group, Version: version, Resource: id.Resource})
	if id.Namespace == "" {
		return resource
	}
	return resource.Namespace(id.Namespace)
}
