package celenv_test

import (
	"fmt"
	"testing"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

func TestMapsAreIteratedInOrderOfTheirKeys(t *testing.T) {
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	b := enginetest.Cluster("c")
	for i := range 9 {
		b.Label(fmt.Sprintf("key-%d", i), fmt.Sprint(i))
	}
	subject := celenv.Subject{Cluster: fleet.NewCluster(b.Obj())}
	for _, text := range []string{
		`managedCluster.metadata.labels.map(k, k)[0] == "key-0"`,
		`managedCluster["metadata"].labels.map(k, managedCluster.metadata.labels[k]) == ["0", "1", "2", "3", "4", "5", "6", "7", "8"]`,
		`'{"b": 1, "c": 2, "a": {"z": 1, "y": 2}}'.parseJSON().map(k, k) == ["a", "b", "c"]`,
		`'{"b": 1, "c": 2, "a": {"z": 1, "y": 2}}'.parseJSON().a.map(k, k) == ["y", "z"]`,
		`[managedCluster].all(c, c.metadata.labels.filter(k, k != "key-0")[7] == "key-8")`,
		`managedCluster.map(k, k)[0] == "apiVersion"`,
		`{"b": 1, "a": 2}.map(k, k) == ["a", "b"]`,
		`{2: 1, "b": 2, "a": 3, 1: 4}.map(k, k) == [1, 2, "a", "b"]`,
		`optional.ofNonZeroValue('{}'.parseJSON()).hasValue() == false`,
	} {
		expression, err := env.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if got := expression.Eval(subject); got.Answer != celenv.Yes {
				t.Errorf("%s: answer %d (%s), want yes", text, got.Answer, got.Problem)
				break
			}
			if got := expression.EvalAllFacets(subject); got.Answer != celenv.Yes {
				t.Errorf("%s on the whole: answer %d (%s), want yes", text, got.Answer, got.Problem)
				break
			}
		}
	}
}
