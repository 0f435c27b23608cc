package presence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// ReturnGrace is how long deletions and decisions wait for the objects that went with a definition, once all definitions are there.
	ReturnGrace = 10 * time.Minute
	// settleTime is how long decisions wait after the last object is back, so that every part has seen it.
	settleTime = 2 * time.Second
	// poll is how often the returned objects and the finalizers are looked at.
	poll = 500 * time.Millisecond
)

// Phase is what a Guard refuses.
type Phase int

// The phases.
const (
	// Present refuses nothing: all definitions are there, and so is what went with one.
	Present Phase = iota
	// Gone refuses all writes: a definition is missing, or is being deleted.
	Gone
	// Returning refuses deletions: the definitions are there, and objects that went with them are not.
	Returning
)

// errNotAList is a mistake of the caller.
var errNotAList = errors.New("it is not a list")

// Kind is a kind whose objects are waited for after its definition was gone.
type Kind struct {
	// Definition is the name of its definition.
	Definition string
	List       client.ObjectList
	// Back reports whether an object that was made anew is as the former one; nil: it is.
	Back func(before, now client.Object) bool
}

// Options configures a Guard.
type Options struct {
	Watcher *Watcher
	// Kinds are those whose objects the cache has.
	Kinds []Kind
	// Release removes finalizers of the manager from the objects of definitions that are being deleted. It is called periodically.
	Release func(ctx context.Context, definitions []string) error
	Clock   clock.WithTicker
	Log     logr.Logger
}

// Guard keeps the manager from taking for a wish what goes with a definition. It is safe for concurrent use.
type Guard struct {
	options Options
	changed chan struct{}
	wake    chan struct{}

	mu    sync.Mutex
	phase Phase
	// gone are the definitions that were missing since the phase was Present.
	gone []string
	// went has the objects that were there when their definition went, by definition. Only Run uses it.
	went map[string]map[types.NamespacedName]client.Object
	// until is when the wait for them ends, settled since when all of them are back.
	until, settled time.Time
}

// NewGuard returns a guard that refuses nothing until it runs.
func NewGuard(options Options) *Guard {
	return &Guard{
		options: options, changed: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		went: map[string]map[types.NamespacedName]client.Object{},
	}
}

// Holds reports whether nothing may be decided now.
func (g *Guard) Holds() bool {
	phase, _ := g.state()
	return phase != Present
}

// Missing returns the definitions that are or were missing, while Holds is true.
func (g *Guard) Missing() []string {
	if phase, gone := g.state(); phase != Present {
		return gone
	}
	return nil
}

// Changed receives a value whenever the result of Holds changes.
func (g *Guard) Changed() <-chan struct{} { return g.changed }

// state returns the phase. A definition that the watcher has just seen going counts at once.
func (g *Guard) state() (phase Phase, gone []string) {
	if gone = g.options.Watcher.Gone(); len(gone) > 0 {
		return Gone, gone
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase == Gone {
		return Returning, g.gone // until step has looked
	}
	return g.phase, g.gone
}

// Message returns what is held and what to do; empty where nothing is.
func (g *Guard) Message() string {
	phase, gone := g.state()
	names := strings.Join(gone, ", ")
	switch phase {
	case Gone:
		return fmt.Sprintf("%s: the definition is missing or being deleted: nothing is decided, delivered or deleted until it is back; "+
			"run berth crds apply as soon as it is gone, and apply the objects of the kind again. Restart nothing before that: what was "+
			"selected is in the memory of this process", names)
	case Returning:
		return fmt.Sprintf("%s: the definition is back, and objects that went with it are not: no placement is decided and nothing is deleted "+
			"until they are, for %s at most: apply them", names, ReturnGrace)
	default:
		return ""
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica guards its writes.
func (*Guard) NeedLeaderElection() bool { return false }

// Run follows the definitions until the context ends. Objects reads the objects that the caches have.
func (g *Guard) Run(ctx context.Context, objects client.Reader) error {
	go g.options.Watcher.Run(ctx, func() {
		select {
		case g.wake <- struct{}{}:
		default: // a value is waiting
		}
	})
	ticker := g.options.Clock.NewTicker(poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-g.wake:
		case <-ticker.C():
			if !g.Holds() {
				continue
			}
		}
		g.step(ctx, objects)
	}
}

// step looks at the definitions and at the objects that went with them.
func (g *Guard) step(ctx context.Context, objects client.Reader) {
	before := g.current()
	gone := g.options.Watcher.Gone()
	switch {
	case len(gone) > 0:
		g.enter(Gone, gone)
		g.record(ctx, objects, gone)
		if err := g.options.Release(ctx, gone); err != nil && ctx.Err() == nil {
			g.options.Log.Info("WARNING: finalizers keep a definition from going; trying again", "cause", err.Error())
		}
	case before == Gone:
		g.mu.Lock()
		g.phase, g.until, g.settled = Returning, g.options.Clock.Now().Add(ReturnGrace), time.Time{}
		g.mu.Unlock()
	case before == Returning && g.returned(ctx, objects):
		g.enter(Present, nil)
	}
	if after := g.current(); after != before {
		g.report(after)
	}
}

func (g *Guard) current() Phase {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.phase
}

// enter records a phase, with the definitions that are gone.
func (g *Guard) enter(phase Phase, gone []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.phase = phase
	if phase == Present {
		g.gone = nil
		clear(g.went)
		return
	}
	g.gone = slices.Concat(g.gone, gone) // not in place: a message may be made of it
	slices.Sort(g.gone)
	g.gone = slices.Compact(g.gone)
}

// report logs a phase and wakes who decides.
func (g *Guard) report(phase Phase) {
	if phase == Present {
		g.options.Log.Info("all definitions are back: decisions and deliveries go on")
	} else {
		g.options.Log.Info("WARNING: " + g.Message())
	}
	select {
	case g.changed <- struct{}{}:
	default: // a value is waiting
	}
}

// record stores which objects the kinds have whose definitions are going, once for each definition. The API server deletes the first some
// seconds later.
func (g *Guard) record(ctx context.Context, objects client.Reader, gone []string) {
	for _, kind := range g.options.Kinds {
		if !slices.Contains(gone, kind.Definition) || g.went[kind.Definition] != nil {
			continue
		}
		found, err := kind.objects(ctx, objects)
		if err != nil {
			g.options.Log.Info("WARNING: the objects of a definition that goes are not known", "definition", kind.Definition, "cause", err.Error())
			continue
		}
		g.went[kind.Definition] = found
	}
}

// returned reports whether the wait for the objects is over: all have been back for a moment, or the grace has passed.
func (g *Guard) returned(ctx context.Context, objects client.Reader) bool {
	now := g.options.Clock.Now()
	if !now.Before(g.until) {
		g.options.Log.Info("WARNING: objects that went with a definition have not come back, and count as deleted from now on",
			"waited", ReturnGrace)
		return true
	}
	for _, kind := range g.options.Kinds {
		if len(g.went[kind.Definition]) == 0 {
			continue
		}
		found, err := kind.objects(ctx, objects)
		if err != nil || !kind.areBack(g.went[kind.Definition], found) {
			g.settled = time.Time{}
			return false
		}
	}
	if g.settled.IsZero() {
		g.settled = now
	}
	return now.Sub(g.settled) >= settleTime
}

// areBack reports whether each object was made anew. The cache shows one with its former UID until it has seen it go.
func (k Kind) areBack(went, found map[types.NamespacedName]client.Object) bool {
	for name, before := range went {
		now, there := found[name]
		if !there || now.GetUID() == before.GetUID() || k.Back != nil && !k.Back(before, now) {
			return false
		}
	}
	return true
}

// objects returns the objects that the cache has, without those that are being deleted. They are read-only.
func (k Kind) objects(ctx context.Context, from client.Reader) (map[types.NamespacedName]client.Object, error) {
	list, ok := k.List.DeepCopyObject().(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("listing the objects of %s: %T: %w", k.Definition, k.List, errNotAList)
	}
	if err := from.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the objects of %s: %w", k.Definition, err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, fmt.Errorf("reading the objects of %s: %w", k.Definition, err)
	}
	out := map[types.NamespacedName]client.Object{}
	for _, item := range items {
		if object, ok := item.(client.Object); ok && object.GetDeletionTimestamp() == nil {
			out[client.ObjectKeyFromObject(object)] = object
		}
	}
	return out, nil
}
