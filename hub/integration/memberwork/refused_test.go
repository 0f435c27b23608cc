package memberwork

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// TestManifestsThatTheMemberRefusesFailAlone has manifests that a retry does not mend beside a valid one. Each message names the cause.
func TestManifestsThatTheMemberRefusesFailAlone(t *testing.T) {
	f := newFixture(t)
	opaque := secret("s", "")
	f.deliver(f.newWork("first", opaque))
	twice := strings.Replace(deployment, `"image":"i"`, `"image":"i","env":[{"name":"A","value":"1"},{"name":"A","value":"2"}]`, 1)
	w := f.newWork("w", configA,
		`{"apiVersion":"v1","kind":"List","items":[`+strings.Replace(configA, `"name":"a"`, `"name":"l"`, 1)+`]}`, twice)
	f.create(f.hub, w)
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionFalse)
	f.on.MustRead(f.configMap("a"))
	for at, want := range []string{
		"", "a list is not applied; write each of its items as a manifest",
		`.env: duplicate entries for key [name="A"]; the list has this key twice`,
	} {
		applied := meta.FindStatusCondition(w.Status.ResourceStatus.Manifests[at].Conditions, workv1.WorkApplied)
		if (applied.Status == metav1.ConditionTrue) != (want == "") || !strings.Contains(applied.Message, want) ||
			want != "" && !strings.HasPrefix(applied.Message, workv1.PermanentFailurePrefix+"Failed to apply manifest: ") {
			t.Errorf("manifest %d: %s %q, want %q", at, applied.Status, applied.Message, want)
		}
	}
}

// TestASecretCannotChangeItsType changes an immutable field. The error is final and names the field.
func TestASecretCannotChangeItsType(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", secret("s", ""))
	f.deliver(w)
	f.change(w, func(w *workv1.ManifestWork) {
		w.Spec.Workload.Manifests = []workv1.Manifest{f.manifest(secret("s", `,"type":"example.com/other"`))}
	})
	applied := f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionFalse)
	const want = "the member refuses the Secret: Invalid (422 Unprocessable Entity) type; the field cannot change: "
	if !strings.Contains(applied.Message, want) {
		t.Errorf("the message is %q, want %q", applied.Message, want)
	}
}
