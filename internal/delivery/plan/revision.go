package plan

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

const (
	// defaultHistoryLimit is how many templates are kept where the set does not name a number.
	defaultHistoryLimit = 10
	// maxHistory bounds the ControllerRevisions of a set in bytes, compressed. maxTemplate bounds a template, decompressed.
	maxHistory, maxTemplate = 4 << 20, 16 << 20
	// maxStored bounds a template in bytes, compressed: as base64 it fits into the 1.5 MiB that etcd stores of an object.
	maxStored = 1 << 20
)

var (
	// ErrTooLarge is the error of a template that cannot be kept because of its size.
	ErrTooLarge = errors.New("the template is too large")

	errOtherHash = errors.New("the template does not have the recorded hash")
	errOtherKind = errors.New("the kind holds no template")
)

// Revision is a kept template: a FormerTemplate for a template with a Secret, a ControllerRevision for any other.
type Revision interface {
	metav1.Object
	runtime.Object
}

// revisionData is what a ControllerRevision holds.
type revisionData struct {
	// Template is the ManifestWorkSpec as JSON, compressed by gzip.
	Template []byte `json:"manifestWorkTemplate.json.gz"`
}

// RevisionPlan is what to write about the kept templates of a set.
type RevisionPlan struct {
	// Replaced are FormerTemplates. They are deleted before Create is created, so that a set never has more than two.
	Replaced []Revision
	// Create is the template to keep; nil without one.
	Create Revision
	// Renew is the kept template that is rolled out again: its number becomes Number. It is nil without one.
	Renew  Revision
	Number int64
	// Finish is the kept template of the last finished rollout if it has no mark of that yet; nil otherwise.
	Finish Revision
	// Delete are the ControllerRevisions that are dropped.
	Delete []Revision
}

// RevisionHash returns the hash of the template that is kept in an object for a set; empty for one of another owner.
func RevisionHash(set, revision metav1.Object) string {
	if !metav1.IsControlledBy(revision, set) {
		return ""
	}
	return revision.GetAnnotations()[workv1.TemplateHashAnnotation]
}

// RevisionNumber returns the number of a kept template.
func RevisionNumber(revision Revision) int64 {
	switch stored := revision.(type) {
	case *appsv1.ControllerRevision:
		return stored.Revision
	case *rolloutv1alpha1.FormerTemplate:
		return stored.Revision
	default:
		return 0
	}
}

// Renumbered returns a kept template with another number.
func Renumbered(revision Revision, number int64) Revision {
	switch stored := revision.(type) {
	case *appsv1.ControllerRevision:
		out := stored.DeepCopy()
		out.Revision = number
		return out
	case *rolloutv1alpha1.FormerTemplate:
		out := stored.DeepCopy()
		out.Revision = number
		return out
	default:
		return revision
	}
}

// RevisionKind returns the kind of a kept template.
func RevisionKind(revision Revision) string {
	if _, ok := revision.(*rolloutv1alpha1.FormerTemplate); ok {
		return "FormerTemplate"
	}
	return "ControllerRevision"
}

// FinishedAnnotation marks a kept template whose template was rolled out to the end.
const FinishedAnnotation = "berth-project.io/rollout-finished"

// RolloutFinished reports whether a rollout of a kept template is known to have finished.
func RolloutFinished(set *workv1alpha1.ManifestWorkReplicaSet, revision Revision) bool {
	hash := RevisionHash(set, revision)
	return hash != "" && (hash == set.Status.CurrentRevision || revision.GetAnnotations()[FinishedAnnotation] != "")
}

// MarkedFinished returns a kept template with the mark of a finished rollout.
func MarkedFinished(revision Revision) Revision {
	out, ok := revision.DeepCopyObject().(Revision)
	if !ok {
		return revision
	}
	annotations := maps.Clone(out.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[FinishedAnnotation] = "true"
	out.SetAnnotations(annotations)
	return out
}

// Revisions returns what to write about the kept templates: the present one is kept first, and the oldest go beyond the limit. The
// template that is rolled out, and that of the last finished rollout, stay. Revisions are all of the set's namespace with its label.
func Revisions(set *workv1alpha1.ManifestWorkReplicaSet, hash string, revisions []Revision) (RevisionPlan, error) {
	var out RevisionPlan
	var own []Revision
	for _, revision := range revisions {
		if RevisionHash(set, revision) != "" {
			own = append(own, revision)
		}
	}
	slices.SortFunc(own, func(a, b Revision) int { // the newest first
		return cmp.Or(cmp.Compare(RevisionNumber(b), RevisionNumber(a)), cmp.Compare(a.GetName(), b.GetName()))
	})
	latest := int64(0)
	if len(own) > 0 {
		latest = RevisionNumber(own[0])
	}
	at := slices.IndexFunc(own, func(revision Revision) bool { return RevisionHash(set, revision) == hash })
	switch {
	case at < 0:
		created, err := newRevision(set, hash, latest+1)
		if err != nil {
			return out, err
		}
		out.Create = created
	case at > 0:
		out.Renew, out.Number = own[at], latest+1
	}
	for _, revision := range own {
		if RevisionHash(set, revision) == set.Status.CurrentRevision && revision.GetAnnotations()[FinishedAnnotation] == "" {
			out.Finish = revision
		}
	}
	out.Replaced, out.Delete = surplus(set, hash, own)
	return out, nil
}

// surplus returns the templates beyond the limits of a set, given with the newest first.
func surplus(set *workv1alpha1.ManifestWorkReplicaSet, hash string, own []Revision) (replaced, dropped []Revision) {
	limit := defaultHistoryLimit
	if set.Spec.RevisionHistoryLimit != nil {
		limit = int(*set.Spec.RevisionHistoryLimit)
	}
	kept, size := 0, 0
	for _, revision := range own {
		if found := RevisionHash(set, revision); found == hash || found == set.Status.CurrentRevision {
			continue
		}
		stored, ok := revision.(*appsv1.ControllerRevision)
		if !ok {
			replaced = append(replaced, revision)
			continue
		}
		kept++
		if size += len(stored.Data.Raw); kept > limit || size > maxHistory {
			dropped = append(dropped, revision)
		}
	}
	return replaced, dropped
}

func newRevision(set *workv1alpha1.ManifestWorkReplicaSet, hash string, number int64) (Revision, error) {
	compressed, err := compress(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return nil, err
	}
	owner := metav1.NewControllerRef(set, workv1alpha1.SchemeGroupVersion.WithKind("ManifestWorkReplicaSet"))
	owner.BlockOwnerDeletion = nil // it needs a permission of its own
	metadata := metav1.ObjectMeta{
		Namespace: set.Namespace, Name: WorkName(set.Namespace, set.Name) + "-" + hash,
		Labels:          map[string]string{labelSet: SetLabelValue(set.Namespace, set.Name)},
		Annotations:     map[string]string{workv1.TemplateHashAnnotation: hash},
		OwnerReferences: []metav1.OwnerReference{*owner},
	}
	if hasSecret(&set.Spec.ManifestWorkTemplate) {
		return &rolloutv1alpha1.FormerTemplate{ObjectMeta: metadata, Template: compressed, Revision: number}, nil
	}
	data, err := json.Marshal(revisionData{Template: compressed})
	if err != nil {
		return nil, fmt.Errorf("encoding the template: %w", err)
	}
	return &appsv1.ControllerRevision{ObjectMeta: metadata, Data: runtime.RawExtension{Raw: data}, Revision: number}, nil
}

func compress(template *workv1.ManifestWorkSpec) ([]byte, error) {
	text, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encoding the template: %w", err)
	}
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write(text); err != nil {
		return nil, fmt.Errorf("compressing the template: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compressing the template: %w", err)
	}
	if out.Len() > maxStored {
		return nil, fmt.Errorf("%w: it has %d bytes, compressed, and %d fit", ErrTooLarge, out.Len(), maxStored)
	}
	return out.Bytes(), nil
}

// compressedIn returns the compressed template that an object holds.
func compressedIn(revision Revision) ([]byte, error) {
	switch stored := revision.(type) {
	case *rolloutv1alpha1.FormerTemplate:
		return stored.Template, nil
	case *appsv1.ControllerRevision:
		var data revisionData
		err := json.Unmarshal(stored.Data.Raw, &data)
		return data.Template, err //nolint:wrapcheck // the caller names the object
	default:
		return nil, errOtherKind
	}
}

// RevisionTemplate returns the template that an object holds. It is an error if the template does not have the hash of the annotation:
// another client wrote it, who may not choose what is delivered.
func RevisionTemplate(revision Revision) (*workv1.ManifestWorkSpec, error) {
	out, err := decompress(revision)
	if err == nil {
		var hash string
		if hash, err = TemplateHash(out); err == nil && hash != revision.GetAnnotations()[workv1.TemplateHashAnnotation] {
			err = errOtherHash
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", RevisionKind(revision), revision.GetNamespace(), revision.GetName(), err)
	}
	return out, nil
}

func decompress(revision Revision) (*workv1.ManifestWorkSpec, error) {
	data, err := compressedIn(revision)
	if err != nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decompressing the template: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxTemplate+1))
	if err != nil {
		return nil, fmt.Errorf("decompressing the template: %w", err)
	}
	if len(text) > maxTemplate {
		return nil, ErrTooLarge
	}
	out := &workv1.ManifestWorkSpec{}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("decoding the template: %w", err)
	}
	return out, nil
}

// hasSecret reports whether a template has a Secret, or may have one. It is kept where the role view of Kubernetes does not read it, as it
// reads ControllerRevisions.
func hasSecret(spec *workv1.ManifestWorkSpec) bool {
	return slices.ContainsFunc(spec.Workload.Manifests, func(manifest workv1.Manifest) bool {
		var kind metav1.TypeMeta
		return json.Unmarshal(manifest.Raw, &kind) != nil || kind.Kind == "Secret" || strings.HasSuffix(kind.Kind, "List")
	})
}

// revision returns what identifies a rollout: the template, and the overrides where there are some.
func (p *planner) revision() string { return revisionOf(p.in.Set, p.in.Hash) }

// revisionOf returns the revision of a set with a template.
func revisionOf(set *workv1alpha1.ManifestWorkReplicaSet, template string) string {
	if overrides := overridesOf(set); overrides != "" {
		return template + "-" + overrides
	}
	return template
}

// overridesOf returns the hash of the overrides of a set; empty for none.
func overridesOf(set *workv1alpha1.ManifestWorkReplicaSet) string {
	if len(set.Spec.Overrides) == 0 {
		return ""
	}
	return overridesHash(set.Spec.Overrides)
}

// RollsOutOverrides reports whether the rollout of a set with a template is, or will be, of other overrides for a template that had begun
// before.
func RollsOutOverrides(set *workv1alpha1.ManifestWorkReplicaSet, template string) bool {
	record := set.Status.Rollout
	if record == nil || templateOf(record.Revision) != template {
		return false
	}
	return record.Revision != revisionOf(set, template) || record.Overrides && record.FinishedTime == nil
}

// changesOverrides reports whether the rollout is of other overrides than the last finished rollout. No revision keeps overrides, so that
// a cluster which joins could only get those that nothing has proven.
func (p *planner) changesOverrides() bool {
	return p.record.FinishedTime == nil && p.record.ProvenOverrides != overridesOf(p.in.Set)
}
