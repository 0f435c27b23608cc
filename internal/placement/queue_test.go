package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// requestOf returns a request for "namespace/name".
func requestOf(text string) reconcile.Request {
	namespace, name, _ := strings.Cut(text, "/")
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func TestNamespacesAreServedRoundRobin(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"nothing":                                      {"", ""},
		"one namespace, in its order":                  {"a/1 a/2 a/3", "a/1 a/2 a/3"},
		"a new namespace is next":                      {"a/1 a/2 a/3 b/1", "a/1 b/1 a/2 a/3"},
		"two rounds over the namespaces":               {"a/1 a/2 b/1 b/2 c/1", "a/1 b/1 c/1 a/2 b/2"},
		"a request that is added twice is served once": {"a/1 a/2 a/1 b/1", "a/1 b/1 a/2"},
	} {
		t.Run(name, func(t *testing.T) {
			queue := newTestQueue(8)
			defer queue.ShutDown()
			for request := range strings.FieldsSeq(tc.in) {
				queue.Add(requestOf(request))
			}
			var got []string
			for queue.Len() > 0 {
				request, _ := queue.Get()
				queue.Done(request)
				got = append(got, request.String())
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
		})
	}
}

func newTestQueue(cores int) *fairQueue {
	return newFairQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](), cores)
}

// TestANamespaceLeavesACoreToTheOthers fills the queue with one namespace. A placement of another is decided while all cores but one are
// busy, and not only once a decision ends.
func TestANamespaceLeavesACoreToTheOthers(t *testing.T) {
	const cores = 4
	queue := newTestQueue(cores)
	defer queue.ShutDown()
	for n := range 40 {
		queue.Add(requestOf(fmt.Sprintf("loud/%d", n)))
	}
	for range cores - 1 {
		queue.Get()
	}
	got := make(chan reconcile.Request, 1)
	go func() {
		request, _ := queue.Get()
		got <- request
	}()
	queue.Add(requestOf("quiet/1"))
	if request := <-got; request.Namespace != "quiet" {
		t.Errorf("%s got the last core", request)
	}
}

// TestAWorkerThatWaitsForACoreGetsTheNext lets a worker wait while the only namespace has its cores.
func TestAWorkerThatWaitsForACoreGetsTheNext(t *testing.T) {
	queue := newTestQueue(2)
	queue.Add(requestOf("a/1"))
	queue.Add(requestOf("a/2"))
	first, _ := queue.Get()
	got := make(chan string, 1)
	next := func() {
		request, shutdown := queue.Get()
		got <- fmt.Sprint(request, " ", shutdown)
	}
	go next()
	queue.Release(first)
	if request := <-got; request != "a/2 false" {
		t.Errorf("the worker got %s", request)
	}
	go next()
	queue.ShutDown()
	if request := <-got; request != "/ true" {
		t.Errorf("the worker got %s from a queue that has ended", request)
	}
}

// TestTheBacklogStaysInTheQueue has more workers than cores, as the controller has. What is not decided counts as waiting.
func TestTheBacklogStaysInTheQueue(t *testing.T) {
	const cores, workers, requests = 2, 24, 100
	queue := newFairQueue("backlog", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](), cores)
	decided := make(chan struct{})
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for {
				request, shutdown := queue.Get()
				if shutdown {
					return
				}
				<-decided
				queue.Done(request)
			}
		})
	}
	for n := range requests {
		queue.Add(requestOf(fmt.Sprintf("a/%d", n)))
	}
	if got := queueDepth(t, "backlog"); got < requests-cores {
		t.Errorf("workqueue_depth is %d, want at least %d", got, requests-cores)
	}
	close(decided)
	queue.ShutDownWithDrain()
	running.Wait()
	if got := queueDepth(t, "backlog"); got != 0 {
		t.Errorf("workqueue_depth of an empty queue is %d", got)
	}
}

// queueDepth returns the metric that operators read.
func queueDepth(t *testing.T, name string) int {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "workqueue_depth" {
			continue
		}
		var depth float64
		for _, metric := range family.GetMetric() {
			if slices.ContainsFunc(metric.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "name" && l.GetValue() == name }) {
				depth += metric.GetGauge().GetValue()
			}
		}
		return int(depth)
	}
	t.Fatal("there is no metric workqueue_depth")
	return 0
}

// TestEveryRequestIsServedWithACore lets workers take, release and finish requests at random. The requests that are decided at once
// never exceed the number of cores. At the end every request was served.
func TestEveryRequestIsServedWithACore(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		cores := 2 + random.IntN(5)
		queue := newTestQueue(cores)
		missing := map[reconcile.Request]bool{}
		add := func(n int) {
			request := requestOf(fmt.Sprintf("%d/%d", random.IntN(3), n))
			queue.Add(request)
			missing[request] = true
		}
		for n := range random.IntN(30) {
			add(n)
		}
		var deciding, storing []reconcile.Request
		take := func(from *[]reconcile.Request) reconcile.Request {
			n := random.IntN(len(*from))
			request := (*from)[n]
			*from = slices.Delete(*from, n, n+1)
			return request
		}
		for step := 0; queue.Len()+len(deciding)+len(storing) > 0; step++ {
			switch choice := random.IntN(4); {
			case choice == 0 && step < 50:
				add(random.IntN(30))
			case choice == 1 && len(deciding) > 0:
				request := take(&deciding)
				queue.Release(request)
				storing = append(storing, request)
			case choice == 2 && len(storing) > 0:
				queue.Done(take(&storing))
			case len(deciding) > 0 && (random.IntN(4) == 0 || !queue.waiting.available()):
				queue.Done(take(&deciding))
			case queue.waiting.available():
				request, _ := queue.Get()
				deciding = append(deciding, request)
				delete(missing, request)
			}
			if len(deciding) > cores || len(queue.waiting.deciding) != len(deciding) {
				t.Fatalf("seed %d: %d requests are decided, and %d of %d cores are held", seed, len(deciding), len(queue.waiting.deciding), cores)
			}
		}
		if len(missing) > 0 {
			t.Fatalf("seed %d: %d requests were never served", seed, len(missing))
		}
		queue.ShutDown()
	}
}
