//go:build slow

package score

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// object is the name of the scores.
const object = "berth-scores"

// state is two clusters whose load a Prometheus scrapes, and a manager that queries it.
type state struct {
	*kit.Client
	t         *testing.T
	namespace string
	load      *load
	manager   *hubtest.Manager
}

// load is an exporter of the load of clusters, as agents of a monitoring system report it.
type load struct {
	mu     sync.Mutex
	values map[string]float64
}

func (l *load) set(cluster string, value float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values[cluster] = value
}

// remove ends the series of a cluster.
func (l *load) remove(cluster string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.values, cluster)
}

// ServeHTTP implements http.Handler.
func (l *load) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for cluster, value := range l.values {
		for pod := range 2 { // two series for each cluster, which the query adds up
			_, _ = fmt.Fprintf(w, "load{cluster=%q,pod=\"%d\"} %g\n", cluster, pod, value/2)
		}
	}
}

// twoScores is the configuration of the manager: what is free, and the same again by another query.
func twoScores(source string) string {
	return fmt.Sprintf(`
sources: [{name: main, url: %q}]
scores:
- {name: free, source: main, query: 'sum by (cluster) (load)', min: 0, max: 100, invert: true, interval: 5s}
- {name: idle, source: main, query: '100 - sum by (cluster) (load)', min: 0, max: 100, interval: 5s}
`, source)
}

// newState starts all of it. config returns the configuration of the manager from the URL of Prometheus.
func newState(t *testing.T, config func(prometheus string) string) *state {
	t.Helper()
	w := &state{
		Client: kit.New(t, shared), t: t, namespace: shared.Namespace(t), load: &load{values: map[string]float64{}},
	}
	w.MustCreate(kit.Set(w.namespace), kit.Binding(w.namespace, w.namespace))
	for _, name := range []string{w.cluster("a"), w.cluster("b")} {
		w.MustCreate(kit.Namespace(name), kit.AcceptedCluster(name, clusterv1beta2.ClusterSetLabel, w.namespace))
	}
	exporter := httptest.NewServer(w.load)
	t.Cleanup(exporter.Close)
	target := kit.Must(url.Parse(exporter.URL)).In(t)
	prometheus := hubtest.StartPrometheus(t, w.file("prometheus.yaml", fmt.Sprintf(
		"global: {scrape_interval: 1s}\nscrape_configs: [{job_name: load, metrics_path: /, static_configs: [{targets: [%q]}]}]\n", target.Host)))
	scores := w.file("scores.yaml", config("http://"+prometheus))
	w.manager = hubtest.StartManager(t, shared, hubtest.ManagerOptions{
		AllowErrors: true,
		Args:        []string{"--controllers=*,score", "--score-config=" + scores},
	})
	return w
}

func (s *state) cluster(letter string) string { return s.namespace + "-" + letter }

func (s *state) file(name, content string) string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), name)
	kit.NoError(s.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// place stores a placement of one cluster, the one with the most of a score.
func (s *state) place(score string) *clusterv1beta1.Placement {
	s.t.Helper()
	out := kit.Placement(s.namespace, score, kit.ByScore(object, score))
	s.MustCreate(out)
	return out
}

// awaitDecision waits until a placement has exactly one cluster.
func (s *state) awaitDecision(placement, want string) {
	s.t.Helper()
	s.AwaitSelected(s.namespace, placement, want)
}

// scores returns the scores of a cluster.
func (s *state) scores(ctx context.Context, cluster string) (*clusterv1alpha1.AddOnPlacementScore, error) {
	out := &clusterv1alpha1.AddOnPlacementScore{}
	return out, s.Get(ctx, client.ObjectKey{Namespace: cluster, Name: object}, out)
}

// awaitCondition waits until the condition of the scores of a cluster has a reason.
func (s *state) awaitCondition(cluster, reason string) {
	s.t.Helper()
	s.AwaitCondition(&clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: object}}, "ScoresCurrent",
		"", reason)
}
