package report

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// Rival is a client that changes fields which the agent puts back: the names of its field managers and of the fields, and no values.
type Rival struct {
	Managers, Fields []string
	// Record is the record of another agent that has the object too; empty without one.
	Record string
}

// setContended reports another client that changes the object again and again.
func (b *built) setContended(m Manifest, work Work) {
	if !m.Verdict.Contended {
		meta.RemoveStatusCondition(&b.condition.Conditions, workv1.ManifestContended)
		return
	}
	setPlain(&b.condition.Conditions, metav1.Condition{
		Type: workv1.ManifestContended, Status: metav1.ConditionTrue, Reason: "ChangedAgain", Message: m.Rival.message(),
	}, work.Now)
}

// message returns which client changes which fields.
func (r Rival) message() string {
	who, what := "Another client", "fields of the manifest"
	if len(r.Managers) > 0 {
		who = "The field manager " + strings.Join(slices.Sorted(slices.Values(r.Managers)), ", ")
	}
	if len(r.Fields) > 0 {
		what = list(r.Fields)
	}
	advice := "Let one client write them: remove them from the manifest, or name them in ignoreFields"
	if r.Record != "" {
		advice = "The AppliedManifestWork " + r.Record + " has the object too: deliver it from one hub, or with equal manifests"
	}
	return cut(who+" changes "+what+" again and again. The agent puts them back, less and less often. "+advice, maxManifestMessage)
}
