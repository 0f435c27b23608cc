package placement

import (
	"runtime"
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// workQueue is the type of queue that controller-runtime expects.
type workQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// fairQueue is a work queue that serves namespaces round robin, and only as many requests as there are cores. One namespace gets one core
// less, so that it cannot block the others: a placement waits for one decision of each other namespace at most, however many placements
// that has. Every other request stays in the queue, where workqueue_depth counts it.
//
// Only decisions need a core. Writes wait for the API server, and goroutines such as the renewal of the leader lease soon get a core.
type fairQueue struct {
	workQueue

	waiting *namespaceQueue
}

func newFairQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], cores int) *fairQueue {
	waiting := newNamespaceQueue(cores)
	return &fairQueue{waiting: waiting, workQueue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{
			Name: name,
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{
				Name:  name,
				Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: waiting}),
			}),
		})}
}

// availableCores returns the number of cores of this process.
func availableCores() int { return runtime.GOMAXPROCS(0) }

// Get blocks until there is a request that may have a core. The worker holds the core until it calls Release or Done.
func (q *fairQueue) Get() (request reconcile.Request, shutdown bool) {
	q.waiting.await()
	return q.workQueue.Get()
}

// Release frees the core of a request before the worker is done with the request. It may be called more than once.
func (q *fairQueue) Release(request reconcile.Request) { q.waiting.release(request) }

// Done marks a request as done and frees its core.
func (q *fairQueue) Done(request reconcile.Request) {
	q.Release(request)
	q.workQueue.Done(request)
}

// ShutDown ends the queue. Workers still get the requests in it.
func (q *fairQueue) ShutDown() {
	q.waiting.end()
	q.workQueue.ShutDown()
}

// ShutDownWithDrain ends the queue, and returns once no request is under way.
func (q *fairQueue) ShutDownWithDrain() {
	q.waiting.end()
	q.workQueue.ShutDownWithDrain()
}

// namespaceQueue orders requests round robin by namespace, so that a thousand placements of one namespace do not delay the one of
// another. Within a namespace it is first in, first out. It counts the requests that hold a core.
type namespaceQueue struct {
	// cores is how many requests may hold a core, namespaceCores how many of one namespace.
	cores, namespaceCores int

	mu      sync.Mutex
	changed *sync.Cond
	// waiting holds the requests of each namespace, and order the namespaces with requests, the next one first.
	waiting map[string][]reconcile.Request
	order   []string
	count   int
	// deciding are the requests that hold a core, and busy their number by namespace.
	deciding map[reconcile.Request]struct{}
	busy     map[string]int
	// promised is how many workers may pop a request, and have not done so yet.
	promised int
	ended    bool
}

// newNamespaceQueue returns a queue for a number of cores, at least 2: with 1, a namespace would get none.
func newNamespaceQueue(cores int) *namespaceQueue {
	cores = max(cores, 2)
	out := &namespaceQueue{
		cores: cores, namespaceCores: cores - 1, waiting: map[string][]reconcile.Request{}, deciding: map[reconcile.Request]struct{}{},
		busy: map[string]int{},
	}
	out.changed = sync.NewCond(&out.mu)
	return out
}

// await blocks until a request may have a core, which the caller then pops, or the queue has ended.
func (q *namespaceQueue) await() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.ended && !q.available() {
		q.changed.Wait()
	}
	if !q.ended {
		q.promised++
	}
}

// available reports whether a request may have a core that is not promised.
func (q *namespaceQueue) available() bool {
	if len(q.deciding)+q.promised >= q.cores {
		return false
	}
	left := q.promised
	for _, namespace := range q.order {
		if left -= min(len(q.waiting[namespace]), q.namespaceCores-q.busy[namespace]); left < 0 {
			return true
		}
	}
	return false
}

// release frees the core of a request.
func (q *namespaceQueue) release(request reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, holds := q.deciding[request]; !holds {
		return
	}
	delete(q.deciding, request)
	if q.busy[request.Namespace]--; q.busy[request.Namespace] == 0 {
		delete(q.busy, request.Namespace)
	}
	q.changed.Signal()
}

// end lets every worker go on.
func (q *namespaceQueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.changed.Broadcast()
}

// Touch does nothing: a request that is added again keeps its position.
func (*namespaceQueue) Touch(reconcile.Request) {}

// Len returns the number of requests.
func (q *namespaceQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

// Push adds a request.
func (q *namespaceQueue) Push(request reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	namespace := request.Namespace
	if len(q.waiting[namespace]) == 0 {
		q.order = append(q.order, namespace)
	}
	q.waiting[namespace] = append(q.waiting[namespace], request)
	q.count++
	q.changed.Signal()
}

// Pop removes the next request of the next namespace that may have a core, and gives it one. The queue is not empty.
func (q *namespaceQueue) Pop() reconcile.Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.promised = max(0, q.promised-1)
	next := max(0, slices.IndexFunc(q.order, func(namespace string) bool { return q.busy[namespace] < q.namespaceCores }))
	namespace := q.order[next]
	q.order = slices.Delete(q.order, next, next+1)
	out, rest := q.waiting[namespace][0], q.waiting[namespace][1:]
	q.count--
	q.deciding[out] = struct{}{}
	q.busy[namespace]++
	if len(rest) == 0 {
		delete(q.waiting, namespace)
		return out
	}
	q.waiting[namespace] = rest
	q.order = append(q.order, namespace)
	return out
}
