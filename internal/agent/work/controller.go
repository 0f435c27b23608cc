// Package work keeps the objects of the works of one cluster on its member, and reports them on the hub.
//
// It owns the watches, the queue and the order of requests; package plan decides. One pass looks at one work: it reads the record and the
// objects, executes what plan returns, and writes the status once. The invariants: works that could not be read are kept, and a hub that
// does not respond changes nothing on the member. Where an agent of Open Cluster Management runs on the member, this one waits.
package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"k8s.io/utils/clock"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/event"
	"github.com/berth-project/berth/internal/agent/metrics"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/queue"
	"github.com/berth-project/berth/internal/agent/work/remote"
	"github.com/berth-project/berth/internal/agent/work/report"
)

// workers is how many works are looked at concurrently.
const workers = 8

// Controller keeps the works of one cluster. Its fields are set before Run.
type Controller struct {
	// Hub and Records are the API servers of the hub and of the member.
	Hub, Records *client.Client
	Member       *remote.Member
	// Cluster is the namespace of the works.
	Cluster string
	// HubHash identifies the hub in the names of records, AgentID the agent in their specs.
	// Where records of AgentID have another hash, as after a change of the URL of the hub, theirs counts.
	HubHash, AgentID string
	// EvictionGrace is how long a record stays after the hub has lost its work; 0 means DefaultEvictionGrace.
	EvictionGrace time.Duration
	// DeletionWait is how long a deletion waits for the objects of one rank; 0 means plan.RemovalWait.
	DeletionWait time.Duration
	// OlderData is set once the hub or the member returned to older data; nil where that is not noticed.
	OlderData *OlderData
	// Confirm returns an error unless the hub has the data that it had last. It is called before an eviction; nil where that is not known.
	Confirm func(ctx context.Context) error
	// MemberReached returns whether the member responds; nil means that it does.
	MemberReached func() bool
	// OCMInterval is the time between two looks for an agent of Open Cluster Management on the member; 0 means one minute.
	OCMInterval time.Duration
	Clock       clock.Clock
	Random      func() float64
	// Report receives the last failure, for the health page; nil after a success.
	Report func(error)
	// Held receives why the objects of works stay that the hub has lost; empty when none do.
	Held func(message string)
	// Undefined receives why the member cannot store the records of works; empty where it can. It may be nil.
	Undefined func(message string)
	Metrics   *metrics.Metrics
	Log       *slog.Logger

	queue *queue.Queue
	works *works
	watch *watches

	definitions definitions
	// account is the user of the agent on the member; empty where it is not known.
	account   string
	undefined undefined
	foreign   foreign
	// foreignReads lets works that go at one time share a read.
	foreignReads sync.Mutex

	evaluator *report.Evaluator
	// hubEvents and memberEvents report events on both sides.
	hubEvents, memberEvents *event.Recorder

	mu     sync.Mutex
	states map[string]*state
	// references follows the wants and entries of states.
	references references
	// begun is whether the agent keeps works, and states has those of the start.
	begun bool
	// held is whether the eviction of a work is held. reporting keeps the reports about it in order.
	held      bool
	reporting sync.Mutex
}

// HubHash returns the hash by which records name a hub: SHA-256 of its URL.
func HubHash(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:])
}

// state is what the agent has stored about one work. Only the worker of the work uses it, but for the fields below mu of the controller.
type state struct {
	generation  int64
	uid         string
	applied     map[object.ID]plan.Applied
	failures    map[object.ID]plan.Failure
	attempts    map[object.ID]int
	unread      map[object.ID]unread
	contentions map[object.ID]contention
	since       map[plan.Stage]time.Time
	// missing is since when this process has read that the hub lacks the work; zero while the hub has it.
	missing time.Time
	// wished is the UID of the work whose deletion is known not to be the end of its definition.
	wished string
	// kept is why objects of a work that goes stay on the member.
	kept map[object.ID]string
	// conflicts are the objects of other works that an event was sent about.
	conflicts map[object.ID]bool
	// written is the last status, writeAfter when the next may be written, statusFailures how often it failed in a row.
	written        *workv1.ManifestWorkStatus
	writeAfter     time.Time
	statusFailures int
	// polled is whether a pass had an object that is not watched, and polls whether the last one had.
	polled, polls bool
	// phase is the state in the metrics, measured the generation that was measured at each stage.
	phase    string
	measured map[string]int64

	// Below are read by other works, under mu.

	work *workv1.ManifestWork
	// wants has the objects that the work names, with the hash of the manifest; empty where it only reports the object. refused has those
	// that it may not write, or cannot. entries is what it has.
	wants   map[object.ID]string
	refused map[object.ID]bool
	// removes returns which objects the work is about to delete; nil before its first pass.
	removes func(object.ID) bool
	entries []plan.Entry
	// recorded is whether the member has a record.
	recorded bool
	// verified is when the status of the work was last known to be so, and watched whether each change of its objects since is noticed.
	verified time.Time
	watched  bool
	// former is a record that was being deleted and was released, to be made anew; nil without one. Only the worker of the work uses it.
	former *workv1.AppliedManifestWork
	// decided is whether the agent has decided about an eviction, held whether it is held, and heldBy the reason, if any.
	decided, held bool
	heldBy        string
	// versions are the resource versions that the agent wrote or read last.
	versions map[object.ID]string
}

func newState() *state {
	return &state{
		applied: map[object.ID]plan.Applied{}, failures: map[object.ID]plan.Failure{}, attempts: map[object.ID]int{},
		unread:      map[object.ID]unread{},
		contentions: map[object.ID]contention{}, since: map[plan.Stage]time.Time{}, versions: map[object.ID]string{},
		kept: map[object.ID]string{}, measured: map[string]int64{}, conflicts: map[object.ID]bool{},
	}
}

// Run keeps the works until the context ends. It writes nothing while an agent of Open Cluster Management runs on the member.
func (c *Controller) Run(ctx context.Context) {
	c.evaluator = report.NewEvaluator()
	for c.awaitAlone(ctx) {
		c.runAlone(ctx)
	}
}

// runAlone keeps the works until the context ends or an agent of Open Cluster Management runs on the member.
func (c *Controller) runAlone(ctx context.Context) {
	c.queue = queue.New(c.Clock)
	c.states, c.references, c.held = map[string]*state{}, references{}, false
	c.hubEvents, c.memberEvents = event.New(c.Hub, c.Clock, c.Log), event.New(c.Records, c.Clock, c.Log)
	c.Metrics.Reset()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.works = newWorks(c.Hub, c.Cluster, func(name string, priority queue.Priority) { c.queue.Add(name, priority, 0) })
	c.watch = newWatches(ctx, c.Member, c.touched)
	var running sync.WaitGroup
	running.Go(func() { c.works.run(ctx) })
	running.Go(func() { c.awaitOCM(ctx); stop() })
	c.undefined = newUndefined()
	running.Go(func() { c.hubEvents.Run(ctx) })
	running.Go(func() { c.memberEvents.Run(ctx) })
	if c.start(ctx) {
		c.setBegun(true)
		c.reportHeld()
		running.Go(func() { c.watchRecords(ctx) })
		running.Go(func() { c.keepDefined(ctx) })
		c.queue.Run(ctx, workers, c.sync)
	}
	c.setBegun(false)
	stop()
	running.Wait()
	c.watch.wait()
}

// sync looks at one work, and again when the pass requires it.
func (c *Controller) sync(ctx context.Context, name string) {
	again, err := c.pass(ctx, name)
	if ctx.Err() != nil {
		return
	}
	c.Report(err)
	c.verify(name, err == nil)
	if err != nil {
		state := c.state(name)
		state.statusFailures++
		c.Log.Warn("a work was not kept", "work", name, "error", err)
		c.queue.Add(name, queue.Retry, retryDelay(state.statusFailures, c.Random()))
		return
	}
	if !again.IsZero() { // a work that is looked at again has a state
		c.state(name).statusFailures = 0
		c.queue.Add(name, queue.Routine, max(again.Sub(c.Clock.Now()), minDelay))
	}
}

// state returns what is stored about a work.
func (c *Controller) state(name string) *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.states[name]
	if out == nil {
		out = newState()
		c.states[name] = out
	}
	return out
}

func (c *Controller) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.states, name)
	c.watch.endNamed(c.references.set(name, nil, nil))
}

// touched enqueues the works of an object that another client changed.
func (c *Controller) touched(id object.ID, version string) {
	c.mu.Lock()
	urgent := map[string]queue.Priority{}
	for name := range c.references.of(id) {
		read, known := c.states[name].versions[id]
		if known && read == version {
			continue
		}
		urgent[name] = queue.News
		if !known { // the first list of a watch has it, and so does the first pass
			urgent[name] = queue.Routine
		}
	}
	c.mu.Unlock()
	for name, priority := range urgent {
		c.queue.Add(name, priority, settleTime)
	}
}
