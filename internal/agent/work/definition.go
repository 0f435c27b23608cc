package work

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// DefinitionGoneAnnotation on a record names the definition that went together with the work. The objects stay, and the work that is made
// anew under its name takes them over.
const DefinitionGoneAnnotation = "berth-project.io/definition-gone"

// definitionInterval is when to look again for a definition that the hub lacks.
const definitionInterval = 10 * time.Second

// definitionsPath is the path of the definitions on the hub.
const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

// definitionNames returns the definitions whose end takes works with it: that of works, and that of the cluster, whose works the hub
// deletes with the cluster.
func definitionNames() []string {
	return []string{"manifestworks.work.open-cluster-management.io", "managedclusters.cluster.open-cluster-management.io"}
}

// definitions records that the definitions were there, so that works that go at one time share a read.
type definitions struct {
	mu sync.Mutex
	// thereAt is when the last read began that found all of them.
	thereAt time.Time
	// refused has the paths that the hub does not let the agent read.
	refused map[string]bool
}

// namespacePath is the path of the namespace of the cluster on the hub.
func (c *Controller) namespacePath() string { return "/api/v1/namespaces/" + c.Cluster }

// gone returns what the hub lacks or is deleting that takes works with it: a definition, or the namespace of the cluster; empty where it
// has all. A read that began at or after an instant suffices. What a hub does not let the agent read, as one of Open Cluster Management,
// counts as there: its deletions must not wait without end.
func (c *Controller) gone(ctx context.Context, since time.Time) (gone, error) {
	c.definitions.mu.Lock()
	defer c.definitions.mu.Unlock()
	if !c.definitions.thereAt.IsZero() && !c.definitions.thereAt.Before(since) {
		return gone{}, nil
	}
	begun := c.Clock.Now()
	for _, name := range definitionNames() {
		there, err := c.isThere(ctx, definitionsPath+name)
		if err != nil || !there {
			return gone{definition: name}, err
		}
	}
	there, err := c.isThere(ctx, c.namespacePath())
	if err != nil || !there {
		return gone{namespace: true}, err
	}
	c.definitions.thereAt = begun
	return gone{}, nil
}

// gone is what goes and takes works with it.
type gone struct {
	definition string
	namespace  bool
}

func (g gone) nothing() bool { return g == gone{} }

// isThere returns whether the hub has an object that is not being deleted.
func (c *Controller) isThere(ctx context.Context, path string) (bool, error) {
	body, code, err := c.Hub.GetRaw(ctx, path)
	switch {
	case code == http.StatusNotFound:
		return false, nil
	case code == http.StatusForbidden:
		c.noteRefused(path)
		return true, nil
	case err != nil:
		return false, err //nolint:wrapcheck // the client names the path
	}
	found := metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(body, &found); err != nil {
		return false, fmt.Errorf("parsing %s: %w", path, err)
	}
	return found.DeletionTimestamp == nil, nil
}

// noteRefused reports once what the agent may not read.
func (c *Controller) noteRefused(path string) {
	kind, what := "definitions", "the definition of works"
	if path == c.namespacePath() {
		kind, what = "namespace", "the namespace of the cluster"
	}
	if c.definitions.refused[kind] {
		return
	}
	if c.definitions.refused == nil {
		c.definitions.refused = map[string]bool{}
	}
	c.definitions.refused[kind] = true
	c.Log.Warn("the hub does not let the agent read its "+kind+": objects go with a work also where "+what+" is deleted; "+
		"apply config/registration of Berth on the hub", "path", path)
}

// wished returns whether the deletion of the work is a wish of a user, and not the end of its definition or of its namespace. The API
// server marks a definition, and a namespace, before it deletes the first object. So one look suffices for a work.
func (p *pass) wished() (bool, error) {
	if p.state.wished == string(p.work.UID) {
		return true, nil
	}
	gone, err := p.controller.gone(p.ctx, p.controller.Clock.Now())
	if err != nil {
		return false, err
	}
	if gone.nothing() {
		p.state.wished = string(p.work.UID)
		return true, nil
	}
	if gone.namespace {
		p.controller.Log.Error("a work goes with the namespace of the cluster: its objects stay on the member, and the work takes them "+
			"over when it is there again", "work", p.name, "namespace", p.controller.Cluster)
	} else {
		p.controller.Log.Error("a work goes with its definition: its objects stay on the member, and the work takes them "+
			"over when it is there again", "work", p.name, "definition", gone.definition)
	}
	return false, p.markGone(gone)
}

// withoutDefinition returns when to look again at a record whose work the hub lacks together with a definition or the namespace; zero where
// the hub has them. The grace period begins when they are back.
func (p *pass) withoutDefinition() (time.Time, error) {
	now := p.controller.Clock.Now()
	gone, err := p.controller.gone(p.ctx, now.Add(-definitionInterval/2))
	if err != nil || gone.nothing() {
		return time.Time{}, err
	}
	p.state.missing = time.Time{}
	p.decide(true)
	return now.Add(definitionInterval), p.markGone(gone)
}

// markGone stores on the record that the work went with a definition, or with the namespace of the cluster: then nothing evicts it but an
// administrator.
func (p *pass) markGone(gone gone) error {
	if gone.namespace {
		return p.annotate(EvictionHeldAnnotation, HeldNamespaceDeleted)
	}
	return p.annotate(DefinitionGoneAnnotation, gone.definition)
}

// annotate stores an annotation of the record; empty removes it.
func (p *pass) annotate(key, value string) error {
	if p.record == nil || p.record.Annotations[key] == value {
		return nil
	}
	return p.patchMetadata(map[string]any{"annotations": map[string]any{key: orNull(value)}})
}

// annotate stores an annotation of a record; empty removes it.
func (c *Controller) annotate(ctx context.Context, record *workv1.AppliedManifestWork, key, value string) error {
	_, err := c.patchMetadata(ctx, record, map[string]any{"annotations": map[string]any{key: orNull(value)}})
	return err
}

// orNull returns a value of a merge patch; null for empty, which removes it.
func orNull(value string) any {
	if value == "" {
		return nil
	}
	return value
}
