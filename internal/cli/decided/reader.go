package decided

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

// settleTime is how long a complete decision must stay the same before it is returned. A change of several slices leaves them
// consistent between two writes, which take milliseconds.
const settleTime = 150 * time.Millisecond

var (
	// ErrIncomplete reports a decision that is not complete. Reader.Obstacle has the reason.
	ErrIncomplete = errors.New("the decision is not complete")
	// ErrDeleted reports a placement that was deleted while it was read, or made anew.
	ErrDeleted = errors.New("the placement was deleted")
)

// Reader reads the decision of one placement from watches. Its methods are for one goroutine.
type Reader struct {
	cache  *reader.WatchCache
	failed chan error
	key    types.NamespacedName
	// uid is that of the placement at the first reading.
	uid      types.UID
	obstacle string
}

// NewReader lists and watches a placement and its slices until the context ends. A missing placement is an error.
func NewReader(ctx context.Context, h *reader.HubClient, name string) (*Reader, error) {
	r := &Reader{key: types.NamespacedName{Namespace: h.Namespace, Name: name}}
	r.cache = reader.NewWatchCache(h, reader.Scope{
		Kinds: []reader.Kind{reader.PlacementKind(), reader.DecisionKind()}, Namespace: h.Namespace, Placement: name, Uncompiled: true,
	})
	at, err := r.cache.ListAll(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names what was listed
	}
	h.Progress = nil // from now on there is no list
	placement, _, err := r.read()
	if err != nil {
		return nil, err
	}
	if placement == nil {
		return nil, fmt.Errorf("there is no placement %q in the namespace %s", name, h.Namespace)
	}
	r.uid = placement.UID
	r.failed = make(chan error, len(r.cache.Scope.Kinds))
	for _, k := range r.cache.Scope.Kinds {
		go func() { r.failed <- r.cache.KeepCurrent(ctx, k, at[k.Kind]) }()
	}
	return r, nil
}

// Placement returns the namespace and the name of the placement.
func (r *Reader) Placement() string { return r.key.String() }

// Obstacle returns why the last reading was not complete.
func (r *Reader) Obstacle() string { return cmp.Or(r.obstacle, "it changes all the time") }

// read returns the placement and its slices as the watches show them now. The placement is nil if it does not exist.
func (r *Reader) read() (*clusterv1beta1.Placement, decision.Decisions, error) {
	bundle, err := r.cache.Bundle()
	if err != nil {
		return nil, decision.Decisions{}, fmt.Errorf("reading the cache: %w", err)
	}
	for _, placement := range bundle.Placements {
		if placement.Name == r.key.Name && placement.DeletionTimestamp.IsZero() {
			return placement, decision.Of(bundle.Decisions[file.KeyOf(placement)]...), nil
		}
	}
	return nil, decision.Decisions{}, nil
}

// Now returns the decision as it is, or ErrIncomplete.
func (r *Reader) Now() (*Clusters, error) {
	placement, read, err := r.read()
	switch {
	case err != nil:
		return nil, err
	case placement == nil || placement.UID != r.uid:
		return nil, ErrDeleted
	}
	if obstacles := read.Obstacles(placement); len(obstacles) > 0 {
		r.obstacle = phrase.Join(obstacles, phrase.MaxNames)
		return nil, ErrIncomplete
	}
	r.obstacle = ""
	return newClusters(placement, read)
}

// Next waits for a complete decision with another revision, which has not changed for the settle time.
func (r *Reader) Next(ctx context.Context, revision string) (*Clusters, error) {
	settling := ""
	for {
		found, err := r.Now()
		switch {
		case err != nil && !errors.Is(err, ErrIncomplete):
			return nil, err
		case err == nil && found.Revision == settling:
			return found, nil
		case err == nil && found.Revision != revision:
			settling = found.Revision
			reader.Sleep(ctx, settleTime)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		settling = ""
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-r.failed:
			return nil, cmp.Or(err, ctx.Err()) // a watch ends without an error if the context does
		case <-r.cache.Changed:
		}
	}
}
