package placement

import (
	"runtime"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// workQueue is the queue of the type that the controller takes from.
type workQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// fairQueue is a work queue that serves namespaces in turn, and hands out a request only with a core to decide it on: a
// worker never waits for a core with a request in its hands while another request could be decided.
type fairQueue struct {
	workQueue

	cores *coreLimiter
}

// newFairQueue returns a queue for a controller. It hands out requests as there are cores.
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

// Get blocks until there is a request with a core for it. The core is the worker's until it calls Release or Done.
func (q *fairQueue) Get() (request reconcile.Request, shutdown bool) {
	for {
		request, shutdown = q.workQueue.Get()
		if shutdown || q.cores.acquire(request) {
			return request, shutdown
		}
		q.workQueue.Done(request) // it is added again once there is a core for it
	}
}

// Release gives the core of a request back before the worker is done with it. It may be called more than once.
func (q *fairQueue) Release(request reconcile.Request) {
	if next, ok := q.cores.release(request); ok {
		q.Add(next)
	}
}

// Done marks a request as done.
func (q *fairQueue) Done(request reconcile.Request) {
	q.Release(request)
	q.workQueue.Done(request)
}

// namespaceQueue is an order of requests in which namespaces take turns, so that a thousand placements of one do not delay
// the one of another. Within a namespace the first comes first. It is not safe for concurrent use.
type namespaceQueue struct {
	// waiting are the requests of each namespace that has some; order are these namespaces, the next first.
	waiting map[string][]reconcile.Request
	order   []string
	count   int
}

func newNamespaceQueue() *namespaceQueue {
	return &namespaceQueue{waiting: map[string][]reconcile.Request{}}
}

// Touch is for orders in which a request that is added again moves.
func (*namespaceQueue) Touch(reconcile.Request) {}

// Len returns how many requests wait.
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

// Pop returns the next request of the namespace whose turn it is.
func (o *namespaceQueue) Pop() reconcile.Request {
	out, _ := o.popAllowed(func(string) bool { return true })
	return out
}

// popAllowed is Pop among the namespaces that may have a turn. Ok is false where none of these waits.
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

// coreLimiter bounds how many placements are decided at once, which is all that keeps a core busy for long: no more than there
// are cores, so that whatever else the process does soon has one, such as renewing the lease; and for one namespace one
// less, so that the placements of others never wait for it. Storing decisions waits for the API server, and is not bounded.
// Its methods may be called from any goroutine.
type coreLimiter struct {
	mu sync.Mutex
	// limit is how many may be busy, namespaceLimit with the placements of one namespace.
	limit, namespaceLimit int
	busy                  map[reconcile.Request]struct{}
	busyByNamespace       map[string]int
	// queued are the requests that wait for a core. While there is one that a core may have, none is idle.
	queued    *namespaceQueue
	queuedSet map[reconcile.Request]struct{}
}

// newCoreLimiter returns the cores of a process that has so many. A process with one is given two, which share it.
func newCoreLimiter(count int) *coreLimiter {
	most := max(count, 2)
	return &coreLimiter{
		limit: most, namespaceLimit: most - 1, busy: map[reconcile.Request]struct{}{}, busyByNamespace: map[string]int{},
		queued: newNamespaceQueue(), queuedSet: map[reconcile.Request]struct{}{},
	}
}

// availableCores is how many cores this process has.
func availableCores() int { return runtime.GOMAXPROCS(0) }

// acquire takes a core for a request. It is true where the request has one, also since give handed it over.
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

// release gives back the core of a request that has one, and hands it to the next request that was refused. Ok is false where
// none may have it.
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
