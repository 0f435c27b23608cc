package plan

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

const (
	// defaultHistoryLimit is how many templates are kept where the set does not name a number.
	defaultHistoryLimit = 10
	// maxHistory bounds the kept templates of a set in bytes, compressed. maxTemplate bounds one, decompressed.
	maxHistory, maxTemplate = 4 << 20, 16 << 20
)

var (
	errTooLarge  = errors.New("the template is too large")
	errOtherHash = errors.New("the template does not have the recorded hash")
)

// revisionData is what a ControllerRevision holds.
type revisionData struct {
	// Template is the ManifestWorkSpec as JSON, compressed by gzip.
	Template []byte `json:"manifestWorkTemplate.json.gz"`
}

// RevisionPlan is what to write about the kept templates of a set.
type RevisionPlan struct {
	// Create is the template to keep; nil without one.
	Create *appsv1.ControllerRevision
	// Renew is the kept template that is rolled out again: its number becomes Number. It is nil without one.
	Renew  *appsv1.ControllerRevision
	Number int64
	// Finish is the kept template of the last finished rollout if it has no mark of that yet; nil otherwise.
	Finish *appsv1.ControllerRevision
	// Delete are the templates that are dropped.
	Delete []*appsv1.ControllerRevision
}

// RevisionHash returns the hash of the template that a ControllerRevision of a set holds; empty for one of another owner.
func RevisionHash(set metav1.Object, revision *appsv1.ControllerRevision) string {
	if !metav1.IsControlledBy(revision, set) {
		return ""
	}
	return revision.Annotations[workv1.TemplateHashAnnotation]
}

// FinishedAnnotation marks a ControllerRevision whose template was rolled out to the end.
const FinishedAnnotation = "berth-project.io/rollout-finished"

// RolloutFinished reports whether a rollout of the template that a ControllerRevision of a set holds is known to have finished.
func RolloutFinished(set *workv1alpha1.ManifestWorkReplicaSet, revision *appsv1.ControllerRevision) bool {
	hash := RevisionHash(set, revision)
	return hash != "" && (hash == set.Status.CurrentRevision || revision.Annotations[FinishedAnnotation] != "")
}

// Revisions returns what to write about the kept templates: the present one is kept first, and the oldest go beyond the limit. The
// template that is rolled out, and that of the last finished rollout, stay. Revisions are all of the set's namespace with its label.
func Revisions(set *workv1alpha1.ManifestWorkReplicaSet, hash string, revisions []*appsv1.ControllerRevision) (RevisionPlan, error) {
	var out RevisionPlan
	var own []*appsv1.ControllerRevision
	for _, revision := range revisions {
		if RevisionHash(set, revision) != "" {
			own = append(own, revision)
		}
	}
	slices.SortFunc(own, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.Name, b.Name)) // the newest first
	})
	latest := int64(0)
	if len(own) > 0 {
		latest = own[0].Revision
	}
	at := slices.IndexFunc(own, func(revision *appsv1.ControllerRevision) bool { return RevisionHash(set, revision) == hash })
	switch {
	case at < 0 && !hasSecret(&set.Spec.ManifestWorkTemplate):
		created, err := newRevision(set, hash, latest+1)
		if err != nil {
			return out, err
		}
		out.Create = created
	case at > 0:
		out.Renew, out.Number = own[at], latest+1
	}
	for _, revision := range own {
		if RevisionHash(set, revision) == set.Status.CurrentRevision && revision.Annotations[FinishedAnnotation] == "" {
			out.Finish = revision
		}
	}
	out.Delete = surplus(set, hash, own)
	return out, nil
}

// surplus returns the templates beyond the limits of a set, given with the newest first.
func surplus(set *workv1alpha1.ManifestWorkReplicaSet, hash string, own []*appsv1.ControllerRevision) []*appsv1.ControllerRevision {
	limit := defaultHistoryLimit
	if set.Spec.RevisionHistoryLimit != nil {
		limit = int(*set.Spec.RevisionHistoryLimit)
	}
	var out []*appsv1.ControllerRevision
	kept, size := 0, 0
	for _, revision := range own {
		if found := RevisionHash(set, revision); found == hash || found == set.Status.CurrentRevision {
			continue
		}
		kept++
		if size += len(revision.Data.Raw); kept > limit || size > maxHistory {
			out = append(out, revision)
		}
	}
	return out
}

func newRevision(set *workv1alpha1.ManifestWorkReplicaSet, hash string, number int64) (*appsv1.ControllerRevision, error) {
	text, err := json.Marshal(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return nil, fmt.Errorf("encoding the template: %w", err)
	}
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	if _, err := writer.Write(text); err != nil {
		return nil, fmt.Errorf("compressing the template: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compressing the template: %w", err)
	}
	data, err := json.Marshal(revisionData{Template: compressed.Bytes()})
	if err != nil {
		return nil, fmt.Errorf("encoding the template: %w", err)
	}
	owner := metav1.NewControllerRef(set, workv1alpha1.SchemeGroupVersion.WithKind("ManifestWorkReplicaSet"))
	owner.BlockOwnerDeletion = nil // it needs a permission of its own
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: WorkName(set.Namespace, set.Name) + "-" + hash,
			Labels:          map[string]string{labelSet: SetLabelValue(set.Namespace, set.Name)},
			Annotations:     map[string]string{workv1.TemplateHashAnnotation: hash},
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: number,
	}, nil
}

// RevisionTemplate returns the template that a ControllerRevision holds. It is an error if the template does not have the hash of the
// annotation: another client wrote it, who may not choose what is delivered.
func RevisionTemplate(revision *appsv1.ControllerRevision) (*workv1.ManifestWorkSpec, error) {
	var data revisionData
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return nil, fmt.Errorf("reading ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(data.Template))
	if err != nil {
		return nil, fmt.Errorf("decompressing ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxTemplate+1))
	if err == nil && len(text) > maxTemplate {
		err = errTooLarge
	}
	out := &workv1.ManifestWorkSpec{}
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	hash, err := TemplateHash(out)
	if err == nil && hash != revision.Annotations[workv1.TemplateHashAnnotation] {
		err = errOtherHash
	}
	if err != nil {
		return nil, fmt.Errorf("verifying ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return out, nil
}

// hasSecret reports whether a template has a Secret. It is not kept, because the role view of Kubernetes reads ControllerRevisions.
func hasSecret(spec *workv1.ManifestWorkSpec) bool {
	return slices.ContainsFunc(spec.Workload.Manifests, func(manifest workv1.Manifest) bool {
		var kind metav1.TypeMeta
		return json.Unmarshal(manifest.Raw, &kind) != nil || kind.Kind == "Secret" || kind.Kind == "List"
	})
}
