package placement

import (
	"runtime"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// workQueue is the type of queue that controller-runtime expects.
type workQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// fairQueue is a work queue that serves namespaces round robin. It hands out a request only if a core is free for it, so no
// worker blocks on a core while another request could be decided.
type fairQueue struct {
	workQueue

	cores *coreLimiter
}

func newFairQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], cores *coreLimiter) *fairQueue {
	return &fairQueue{cores: cores, workQueue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{
		Name: name,
		DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{
			Name: name,
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{
				Name: name, Queue: newNamespaceQueue(),
			}),
		}),
	})}
}

// Get blocks until a request and a core for it are available. The worker owns the core until it calls Release or Done.
func (q *fairQueue) Get() (request reconcile.Request, shutdown bool) {
	for {
		request, shutdown = q.workQueue.Get()
		if shutdown || q.cores.acquire(request) {
			return request, shutdown
		}
		q.workQueue.Done(request) // Release adds it again once a core is free
	}
}

// Release frees the core of a request before the worker is done with the request. It may be called more than once.
func (q *fairQueue) Release(request reconcile.Request) {
	if next, ok := q.cores.release(request); ok {
		q.Add(next)
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
func (o *namespaceQueue) Len() int { return o.count }

// Push adds a request.
func (o *namespaceQueue) Push(request reconcile.Request) {
	namespace := request.Namespace
	if len(o.waiting[namespace]) == 0 {
		o.order = append(o.order, namespace)
	}
	o.waiting[namespace] = append(o.waiting[namespace], request)
	o.count++
}

// Pop removes the next request of the next namespace.
func (o *namespaceQueue) Pop() reconcile.Request {
	out, _ := o.popAllowed(func(string) bool { return true })
	return out
}

// popAllowed is Pop among some namespaces. Ok is false if none of them has a request.
func (o *namespaceQueue) popAllowed(may func(namespace string) bool) (out reconcile.Request, ok bool) {
	for n, namespace := range o.order {
		if !may(namespace) {
			continue
		}
		o.order = append(o.order[:n:n], o.order[n+1:]...)
		out, o.waiting[namespace] = o.waiting[namespace][0], o.waiting[namespace][1:]
		o.count--
		if len(o.waiting[namespace]) == 0 {
			delete(o.waiting, namespace)
		} else {
			o.order = append(o.order, namespace)
		}
		return out, true
	}
	return reconcile.Request{}, false
}

// coreLimiter bounds how many placements are decided at once to the number of cores. Other goroutines, such as the renewal of the leader
// lease, soon get a core. One namespace gets one core less, so that it cannot block the others. Writes wait for the API server and are
// not bounded. coreLimiter is safe for concurrent use.
type coreLimiter struct {
	mu sync.Mutex
	// limit is how many requests may hold a core, namespaceLimit how many of one namespace.
	limit, namespaceLimit int
	busy                  map[reconcile.Request]struct{}
	busyByNamespace       map[string]int
	// queued holds the requests that wait for a core. No core is free while one of them may have it.
	queued    *namespaceQueue
	queuedSet map[reconcile.Request]struct{}
}

// newCoreLimiter returns a limiter for a number of cores, at least 2: with 1, a namespace would get none.
func newCoreLimiter(count int) *coreLimiter {
	most := max(count, 2)
	return &coreLimiter{
		limit: most, namespaceLimit: most - 1, busy: map[reconcile.Request]struct{}{}, busyByNamespace: map[string]int{},
		queued: newNamespaceQueue(), queuedSet: map[reconcile.Request]struct{}{},
	}
}

// availableCores returns the number of cores of this process.
func availableCores() int { return runtime.GOMAXPROCS(0) }

// acquire reports whether a request holds a core. It takes a free one if the request has none, and else queues the request.
func (c *coreLimiter) acquire(request reconcile.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, has := c.busy[request]; has {
		return true
	}
	if len(c.busy) < c.limit && c.allowed(request.Namespace) {
		c.assign(request)
		return true
	}
	if _, waits := c.queuedSet[request]; !waits {
		c.queuedSet[request] = struct{}{}
		c.queued.Push(request)
	}
	return false
}

func (c *coreLimiter) allowed(namespace string) bool {
	return c.busyByNamespace[namespace] < c.namespaceLimit
}

func (c *coreLimiter) assign(request reconcile.Request) {
	c.busy[request] = struct{}{}
	c.busyByNamespace[request.Namespace]++
}

// release frees the core of a request and assigns it to the next queued request. Ok is false if no request gets it.
func (c *coreLimiter) release(request reconcile.Request) (next reconcile.Request, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, has := c.busy[request]; !has {
		return reconcile.Request{}, false
	}
	delete(c.busy, request)
	if c.busyByNamespace[request.Namespace]--; c.busyByNamespace[request.Namespace] == 0 {
		delete(c.busyByNamespace, request.Namespace)
	}
	if next, ok = c.queued.popAllowed(c.allowed); ok {
		delete(c.queuedSet, next)
		c.assign(next)
	}
	return next, ok
}
