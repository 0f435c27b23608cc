package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
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

func newTestQueue(count int) *fairQueue {
	return newFairQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](), newCoreLimiter(count))
}

// TestANamespaceLeavesACoreToOthers lets one namespace use as many cores as it can. A placement of another namespace does not wait.
func TestANamespaceLeavesACoreToOthers(t *testing.T) {
	for count, want := range map[int]int{1: 1, 2: 1, 3: 2, 16: 15} {
		c := newCoreLimiter(count)
		busy := 0
		for n := range 40 {
			if c.acquire(requestOf(fmt.Sprintf("loud/%d", n))) {
				busy++
			}
		}
		if busy != want {
			t.Errorf("of %d cores one namespace keeps %d busy, want %d", count, busy, want)
		}
		if !c.acquire(requestOf("quiet/1")) {
			t.Errorf("all %d cores are busy with one namespace", count)
		}
	}
}

// TestEveryRequestIsServedWithACore lets workers take, release and finish requests at random. The requests that are decided at once
// never exceed the number of cores, or the limit of their namespace. At the end every request was served.
func TestEveryRequestIsServedWithACore(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		count := 1 + random.IntN(5)
		queue := newTestQueue(count)
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
			case len(deciding) > 0 && random.IntN(4) == 0:
				queue.Done(take(&deciding))
			default:
				if request, ok := tryGet(queue); ok {
					deciding = append(deciding, request)
					delete(missing, request)
				}
			}
			checkCores(t, seed, queue.cores, deciding)
		}
		if len(missing) > 0 {
			t.Fatalf("seed %d: %d requests were never served", seed, len(missing))
		}
		queue.ShutDown()
	}
}

// tryGet is like Get, and does not block if no request can be served.
func tryGet(queue *fairQueue) (request reconcile.Request, ok bool) {
	for queue.Len() > 0 {
		request, _ = queue.workQueue.Get()
		if queue.cores.acquire(request) {
			return request, true
		}
		queue.workQueue.Done(request)
	}
	return reconcile.Request{}, false
}

func checkCores(t *testing.T, seed uint64, c *coreLimiter, deciding []reconcile.Request) {
	t.Helper()
	per := map[string]int{}
	for _, request := range deciding {
		per[request.Namespace]++
		if per[request.Namespace] > c.namespaceLimit {
			t.Fatalf("seed %d: %d cores are busy with one namespace, want at most %d", seed, per[request.Namespace], c.namespaceLimit)
		}
	}
	if len(deciding) > c.limit || len(c.busy) > c.limit {
		t.Fatalf("seed %d: %d requests are decided on %d cores", seed, len(deciding), c.limit)
	}
}
