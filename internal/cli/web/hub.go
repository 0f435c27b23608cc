package web

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/source/file"
)

const (
	// maxExplanations is how many explanations are kept for the current state.
	maxExplanations = 64
	// maxRequests is how many requests for explanations run at the same time. The manager refuses more of one user.
	maxRequests = 4
	// pollTime is how often the fleet is read where the user may not watch it.
	pollTime = 10 * time.Second
	// retryTime is how long a lost hub is left alone.
	retryTime = 3 * time.Second
)

// Hub reads the fleet of a hub with the rights of its user. It watches the hub where the user may, and polls the views of the manager
// elsewhere. It implements console.Reader, console.Deliveries and console.Members, and is safe for concurrent use.
type Hub struct {
	fleet  *reader.Fleet
	client *reader.HubClient
	works  client.Client
	clock  clock.Clock
	slots  chan struct{}

	mu      sync.Mutex
	version uint64
	state   *model.State
	// next builds the state after the last change; nil while the state is current.
	next    func() (*file.Bundle, error)
	note    string
	problem error
	changed chan struct{}
	// explained are the explanations of the current state.
	explained map[fleet.Key]*explain.Explanation
	// compiled is the bundle of the current state with compiled placements; nil until a preview needs it.
	compiled *file.Bundle
}

// NewHub returns a reader of a hub, which Run keeps current.
func NewHub(from *reader.Fleet, h *reader.HubClient, works client.Client, clock clock.Clock) *Hub {
	h.Progress = nil
	quiet := *from // it is read again and again
	quiet.Streams.ErrOut = io.Discard
	return &Hub{
		fleet: &quiet, client: h, works: works, clock: clock, slots: make(chan struct{}, maxRequests), changed: make(chan struct{}),
		explained: map[fleet.Key]*explain.Explanation{},
	}
}

// scope is what pages read of a hub. Not every hub has the kinds of works. Placements are compiled when a preview needs them.
func scope(works bool) reader.Scope {
	out := reader.Scope{Uncompiled: true, Kinds: []reader.Kind{
		reader.ClusterKind(), reader.SetKind(), reader.BindingKind(), reader.PlacementKind(), reader.DecisionKind(), reader.ScoreKind(),
	}}
	if works {
		out.Kinds = append(out.Kinds, reader.WorkSetKind())
	}
	return out
}

// Start reads the fleet once. Follow keeps it current until its context ends.
func (h *Hub) Start(ctx context.Context) (follow func(context.Context), err error) {
	for _, works := range []bool{true, false} {
		cache := reader.NewWatchCache(h.client, scope(works))
		var at map[string]string
		at, err = cache.ListAll(ctx)
		if err == nil {
			h.update(cache.Bundle, "")
			return func(ctx context.Context) { h.follow(ctx, cache, at) }, nil
		}
		if apierrors.IsForbidden(err) {
			break
		}
	}
	if !apierrors.IsForbidden(err) {
		return nil, err
	}
	if err := h.poll(ctx); err != nil {
		return nil, err
	}
	return h.keepPolling, nil
}

// follow keeps the state current by watches until the context ends.
func (h *Hub) follow(ctx context.Context, cache *reader.WatchCache, at map[string]string) {
	for ctx.Err() == nil {
		h.followOnce(ctx, cache, at)
		for ctx.Err() == nil {
			reader.Sleep(ctx, retryTime)
			next, err := cache.ListAll(ctx)
			if err == nil {
				at = next
				h.update(cache.Bundle, "")
				break
			}
			h.fail(err)
		}
	}
}

// followOnce follows the watches until one ends.
func (h *Hub) followOnce(ctx context.Context, cache *reader.WatchCache, at map[string]string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(cache.Scope.Kinds))
	for _, kind := range cache.Scope.Kinds {
		go func() { ended <- cache.KeepCurrent(ctx, kind, at[kind.Kind]) }()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-ended:
			if err != nil {
				h.fail(err)
			}
			return
		case <-cache.Changed:
			h.update(cache.Bundle, "")
		}
	}
}

// keepPolling keeps the state current by lists until the context ends.
func (h *Hub) keepPolling(ctx context.Context) {
	for {
		reader.Sleep(ctx, pollTime)
		if ctx.Err() != nil {
			return
		}
		if err := h.poll(ctx); err != nil {
			h.fail(err)
		}
	}
}

// poll reads what the user may see.
func (h *Hub) poll(ctx context.Context) error {
	bundle, note, err := h.fleet.LoadReadable(ctx, scope(true))
	if err != nil {
		return err
	}
	h.update(func() (*file.Bundle, error) { return bundle, nil }, note)
	return nil
}

// update notes that the fleet has changed. The state is built when a page needs it.
func (h *Hub) update(next func() (*file.Bundle, error), note string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next, h.note, h.problem = next, note, nil
	h.notify()
}

// fail notes that the fleet cannot be read. Pages show the last state with the reason.
func (h *Hub) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.problem == nil || h.problem.Error() != err.Error() {
		h.problem = err
		h.notify()
	}
}

// notify wakes the pages. The caller holds the lock.
func (h *Hub) notify() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// Changed implements console.Reader.
func (h *Hub) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// State implements console.Reader.
func (h *Hub) State(context.Context) (*model.State, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next != nil {
		bundle, err := h.next()
		if err != nil {
			return nil, err
		}
		h.version++
		h.state, h.next = model.NewState(bundle, h.version, h.clock.Now(), h.note), nil
		h.explained, h.compiled = map[fleet.Key]*explain.Explanation{}, nil
	}
	if h.problem != nil {
		return nil, h.problem
	}
	return h.state, nil
}

// Explain implements console.Reader. The explanation of all clusters is kept until the fleet changes.
func (h *Hub) Explain(ctx context.Context, key fleet.Key, cluster string) (*explain.Explanation, error) {
	if cluster == "" {
		h.mu.Lock()
		found := h.explained[key]
		h.mu.Unlock()
		if found != nil {
			return found, nil
		}
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return nil, ctx.Err() //nolint:wrapcheck // the request has ended
	}
	var parameters url.Values
	if cluster != "" {
		parameters = url.Values{"cluster": {cluster}, "fix": {"true"}}
	}
	before := h.currentVersion()
	out := &explain.Explanation{}
	if err := h.client.GetView(ctx, out, key.Namespace, key.Name, "explanation", parameters); err != nil {
		return nil, h.client.ViewError(err, fmt.Sprintf("explaining %s", key))
	}
	if cluster == "" {
		h.keep(key, out, before)
	}
	return out, nil
}

func (h *Hub) currentVersion() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.version
}

// keep keeps an explanation, unless the fleet has changed since it was requested.
func (h *Hub) keep(key fleet.Key, found *explain.Explanation, version uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.version == version && h.next == nil && len(h.explained) < maxExplanations {
		h.explained[key] = found
	}
}

// Verdict implements console.Reader.
func (h *Hub) Verdict(ctx context.Context, key fleet.Key, cluster string) (*explain.Cluster, error) {
	all, err := h.Explain(ctx, key, "")
	if err != nil {
		return nil, err
	}
	return findIn(all, cluster)
}

// History implements console.Reader.
func (h *Hub) History(ctx context.Context, key fleet.Key) (*explain.History, error) {
	return h.client.History(ctx, key.Namespace, key.Name)
}

// Delivery implements console.Deliveries: from the works where the user may list them, else from the manager.
func (h *Hub) Delivery(ctx context.Context, set fleet.Key) (*report.Report, error) {
	read, err := rollouts.Read(ctx, h.works, client.ObjectKey{Namespace: set.Namespace, Name: set.Name})
	switch {
	case apierrors.IsNotFound(err):
		return nil, console.ErrNotFound
	case err != nil:
		return nil, err
	case read.WorksHidden:
		out := &report.Report{}
		if err := h.client.GetSetView(ctx, out, set.Namespace, set.Name); err == nil {
			return out, nil
		}
	}
	out, err := rollouts.NewReport(read, h.clock.Now())
	return &out, err
}

// Past implements console.Deliveries: the kept templates and the events that the user may list.
func (h *Hub) Past(ctx context.Context, set fleet.Key) (*model.Past, error) {
	stored := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := h.works.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: set.Name}, stored); err != nil {
		return nil, fmt.Errorf("reading the set %s: %w", set, err)
	}
	out := &model.Past{}
	var problems []string
	past, err := rollouts.History(ctx, h.works, stored)
	if err != nil {
		problems = append(problems, err.Error())
	}
	if past.Hidden != "" {
		problems = append(problems, past.Hidden)
	}
	for _, each := range past.Revisions {
		out.Revisions = append(out.Revisions,
			model.Revision{Number: each.Number, Hash: each.Hash, Created: each.Created.Time, Update: each.Update, Current: each.Current})
	}
	events, err := h.client.Events(ctx, reader.WorkSetKind(), set.Namespace, set.Name)
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, each := range events {
		out.Events = append(out.Events,
			model.Event{At: reader.EventTime(each).Time, Warning: each.Type == corev1.EventTypeWarning, Reason: each.Reason, Note: each.Message})
	}
	out.Problem = strings.Join(problems, "; ")
	return out, nil
}

// Compiled returns the fleet with compiled placements, and its version.
func (h *Hub) Compiled() (*file.Bundle, uint64, error) {
	state, err := h.State(context.Background()) //nolint:forbidigo // it sends no request
	if err != nil {
		return nil, 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.compiled == nil || h.state != state {
		if h.compiled, err = file.Compile(state.Bundle); err != nil {
			return nil, 0, err
		}
	}
	return h.compiled, state.Version, nil
}

// Previewer returns what computes previews of the hub.
func (h *Hub) Previewer() console.Previewer {
	state := func() (*model.State, error) { return h.State(context.Background()) } //nolint:forbidigo // it sends no request
	return newPreviewer(h.Compiled, state, h.clock.Now)
}
