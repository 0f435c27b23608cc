package hubtest

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	addonv1beta1 "github.com/berth-project/berth/api/addon/v1beta1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/internal/pki"
	"github.com/berth-project/berth/hub/internal/rotation"
)

const (
	// minPause and maxPause bound the time between two checks. It is pauseShare of the time waited so far, and at least the time that a check
	// takes, so that what waits long leaves the machine to what it waits for.
	minPause, maxPause = 25 * time.Millisecond, 500 * time.Millisecond
	pauseShare         = 10
)

// ConfigFor returns a client configuration for a user with a certificate of the
// hub's own authority. The user has no permission but what roles give.
func (h *Hub) ConfigFor(t testing.TB, user string, groups ...string) *rest.Config {
	t.Helper()
	folder := h.DataDir() + "/pki"
	state, err := rotation.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := pki.Existing(folder, state.Signing, clock.RealClock{}.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Client(authority.End(), user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(h.config)
	config.CertData, config.KeyData = pair.Cert, pair.Key
	config.QPS = -1
	return config
}

// Client returns a typed client for the administrator.
func (h *Hub) Client(t testing.TB) kubernetes.Interface {
	t.Helper()
	out, err := kubernetes.NewForConfig(h.config)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// NewClient returns a client with watches for the types of Berth and Kubernetes, and for their definitions.
func NewClient(t testing.TB, config *rest.Config) client.WithWatch {
	t.Helper()
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensionsv1.AddToScheme, addonv1alpha1.AddToScheme, addonv1beta1.AddToScheme, clusterv1.AddToScheme,
		clusterv1alpha1.AddToScheme, clusterv1beta1.AddToScheme, clusterv1beta2.AddToScheme, multiclusterv1alpha1.AddToScheme,
		rolloutv1alpha1.AddToScheme,
		workv1.AddToScheme, workv1alpha1.AddToScheme,
	} {
		if err := add(types); err != nil {
			t.Fatal(err)
		}
	}
	out, err := client.NewWithWatch(config, client.Options{Scheme: types})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Namespace creates a namespace for one test and returns its name. It is deleted
// at the end of the test, without waiting for that.
func (h *Hub) Namespace(t testing.TB) string {
	t.Helper()
	namespaces := h.Client(t).CoreV1().Namespaces()
	created, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A test may have stopped the hub, and then the namespace is gone too.
		_ = namespaces.Delete(context.WithoutCancel(t.Context()), created.Name, metav1.DeleteOptions{})
	})
	return created.Name
}

// Eventually polls until check returns nil, and fails the test with check's last
// error when that takes longer than the limit.
func Eventually(t testing.TB, limit time.Duration, check func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var last error
	realClock := clock.RealClock{}
	for started := realClock.Now(); ; {
		checked := realClock.Now()
		err := check(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil { // otherwise the limit canceled the request, and the earlier error is the cause
			last = err
		}
		pause := max(realClock.Since(started)/pauseShare, realClock.Since(checked), minPause)
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %v", limit, last)
		case <-realClock.After(min(pause, maxPause)):
		}
	}
}
