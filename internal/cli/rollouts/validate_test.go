package rollouts

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan/plantest"
)

func TestValidateNamesTheField(t *testing.T) {
	good := plantest.New(t, instant, oneByOne).Set
	bad := good.DeepCopy()
	bad.Spec.ManifestWorkTemplate = *templateWith(`{"apiVersion":"v1","kind":"ConfigMap"}`)
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "edge-1", Name: "x"}, Spec: bad.Spec.ManifestWorkTemplate}
	for sentence, test := range map[string]struct {
		sets  []*workv1alpha1.ManifestWorkReplicaSet
		works []*workv1.ManifestWork
		want  []string
	}{
		"a valid set": {sets: []*workv1alpha1.ManifestWorkReplicaSet{good}},
		"a manifest without a name": {
			sets: []*workv1alpha1.ManifestWorkReplicaSet{bad},
			want: []string{"ManifestWorkReplicaSet shop/web", "spec.manifestWorkTemplate.workload.manifests[0]"},
		},
		"the same manifest in a work": {
			works: []*workv1.ManifestWork{work},
			want:  []string{"ManifestWork edge-1/x", "spec.workload.manifests[0]"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := Validate(test.sets, test.works)
			if (err != nil) != (len(test.want) > 0) {
				t.Fatalf("error is %v", err)
			}
			for _, text := range test.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %q does not contain %q", err, text)
				}
			}
		})
	}
}
