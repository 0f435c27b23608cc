package placement

import (
	"runtime"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// workQueue is the type of queue that controller-runtime expects.
type workQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// fairQueue is a work queue that serves namespaces round robin, and only workers that hold a core: every other request stays in the queue,
// where workqueue_depth counts it. A placement waits for the decisions under way and for one of each other namespace, however many
// placements that has.
//
// Only decisions need a core. Writes wait for the API server, and goroutines such as the renewal of the leader lease soon get a core.
type fairQueue struct {
	workQueue

	// cores has a value for each core that a worker holds while it waits for a request or decides it.
	cores chan struct{}

	mu       sync.Mutex
	deciding map[reconcile.Request]struct{}
}

func newFairQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], cores int) *fairQueue {
	return &fairQueue{
		cores: make(chan struct{}, cores), deciding: map[reconcile.Request]struct{}{},
		workQueue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{
			Name: name,
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{
				Name: name,
				Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{
					Name: name, Queue: newNamespaceQueue(),
				}),
			}),
		}),
	}
}

// availableCores returns the number of cores of this process.
func availableCores() int { return runtime.GOMAXPROCS(0) }

// Get blocks until a core and a request are available. The worker holds the core until it calls Release or Done.
func (q *fairQueue) Get() (request reconcile.Request, shutdown bool) {
	q.cores <- struct{}{}
	request, shutdown = q.workQueue.Get()
	if shutdown {
		<-q.cores // for the next worker that ends
		return request, true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.deciding[request] = struct{}{}
	return request, false
}

// Release frees the core of a request before the worker is done with the request. It may be called more than once.
func (q *fairQueue) Release(request reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, holds := q.deciding[request]; holds {
		delete(q.deciding, request)
		<-q.cores
	}
}

// Done marks a request as done and frees its core.
func (q *fairQueue) Done(request reconcile.Request) {
	q.Release(request)
	q.workQueue.Done(request)
}

// namespaceQueue orders requests round robin by namespace, so that a thousand placements of one namespace do not delay the one of
// another. Within a namespace it is first in, first out. It is not safe for concurrent use.
type namespaceQueue struct {
	// waiting holds the requests of each namespace, and order the namespaces with requests, the next one first.
	waiting map[string][]reconcile.Request
	order   []string
	count   int
}

func newNamespaceQueue() *namespaceQueue {
	return &namespaceQueue{waiting: map[string][]reconcile.Request{}}
}

// Touch does nothing: a request that is added again keeps its position.
func (*namespaceQueue) Touch(reconcile.Request) {}

// Len returns the number of requests.
func (q *namespaceQueue) Len() int { return q.count }

// Push adds a request.
func (q *namespaceQueue) Push(request reconcile.Request) {
	namespace := request.Namespace
	if len(q.waiting[namespace]) == 0 {
		q.order = append(q.order, namespace)
	}
	q.waiting[namespace] = append(q.waiting[namespace], request)
	q.count++
}

// Pop removes the next request of the next namespace. The queue is not empty.
func (q *namespaceQueue) Pop() reconcile.Request {
	namespace := q.order[0]
	q.order = q.order[1:]
	out, rest := q.waiting[namespace][0], q.waiting[namespace][1:]
	q.count--
	if len(rest) == 0 {
		delete(q.waiting, namespace)
		return out
	}
	q.waiting[namespace] = rest
	q.order = append(q.order, namespace)
	return out
}
