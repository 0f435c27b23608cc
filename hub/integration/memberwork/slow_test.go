//go:build slow

package memberwork

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestVector21KilledBetweenAnyTwoCalls lets every write after the n-th fail, then restarts the agent.
func TestVector21KilledBetweenAnyTwoCalls(t *testing.T) {
	f := newFixture(t)
	for n := range 7 {
		f.stop()
		left := n
		f.requests.reset(func(request *http.Request) error {
			if request.Method == http.MethodGet {
				return nil
			}
			if left--; left < 0 {
				return errBoom
			}
			return nil
		})
		f.start()
		w := f.newWork(fmt.Sprint("w", n), fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"a%d"}}`, n),
			fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"NS","name":"a%d"}}`, n))
		f.create(f.hub, w)
		kit.Await(f.t, "the agent has sent so many requests", func(context.Context) error {
			if len(f.requests.list()) <= n {
				return errors.New("the agent has not come so far")
			}
			return nil
		})
		f.stop()
		f.requests.reset(nil)
		f.onRecord(t, w.Name, f.configMap(fmt.Sprint("a", n)), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.cluster, Name: fmt.Sprint("a", n)},
		})
		f.start()
		f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
		f.change(w, func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests = w.Spec.Workload.Manifests[:1] })
		kit.Await(f.t, "the Secret is gone", func(ctx context.Context) error {
			return f.gone(ctx, f.on, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.cluster, Name: fmt.Sprint("a", n)}})
		})
		f.remove(w)
		if err := f.gone(t.Context(), f.on, f.configMap(fmt.Sprint("a", n))); err != nil {
			t.Error(err)
		}
	}
}

// TestVector34AnExecutorWithoutRights checks that the RBAC of the member decides, and that nothing is written as the agent.
func TestVector34AnExecutorWithoutRights(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", configA)
	w.Spec.Executor = f.executor("team")
	f.create(f.hub, w)
	if applied := f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionFalse); !strings.Contains(applied.Message,
		"system:serviceaccount:"+f.cluster+":team") {
		t.Errorf("the message is %q", applied.Message)
	}
	if err := f.gone(t.Context(), f.on, f.configMap("a")); err != nil {
		t.Error(err)
	}
	f.permit("team", "get", "create", "patch")
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
}

// TestAKindThatIsDefinedLaterIsApplied defines the kind of a resource by another work. No event of the first work follows.
func TestAKindThatIsDefinedLaterIsApplied(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", widget)
	f.create(f.hub, w)
	f.awaitMessage(w, workv1.WorkApplied, "the member does not know the kind Widget")
	f.deliver(f.newWork("definition", definition))
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
}
