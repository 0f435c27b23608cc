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
	"github.com/berth-project/berth/internal/agent/client"
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
	refused bool
}

// goneDefinition returns a definition that the hub lacks or is deleting; empty where it has all of them. A read that began at or after an
// instant suffices. A hub that lets the agent read no definition, as one of Open Cluster Management, counts as a hub that has them: its
// deletions must not wait without end.
func (c *Controller) goneDefinition(ctx context.Context, since time.Time) (string, error) {
	c.definitions.mu.Lock()
	defer c.definitions.mu.Unlock()
	if !c.definitions.thereAt.IsZero() && !c.definitions.thereAt.Before(since) {
		return "", nil
	}
	begun := c.Clock.Now()
	for _, name := range definitionNames() {
		there, err := c.readDefinition(ctx, name)
		if err != nil || !there {
			return name, err
		}
	}
	c.definitions.thereAt = begun
	return "", nil
}

// readDefinition returns whether the hub has a definition that is not being deleted.
func (c *Controller) readDefinition(ctx context.Context, name string) (bool, error) {
	body, code, err := c.Hub.GetRaw(ctx, definitionsPath+name)
	switch {
	case code == http.StatusNotFound:
		return false, nil
	case code == http.StatusForbidden:
		if !c.definitions.refused {
			c.definitions.refused = true
			c.Log.Warn("the hub does not let the agent read its definitions: objects go with a work also where the definition of works is deleted; "+
				"apply config/registration of Berth on the hub", "definition", name)
		}
		return true, nil
	case err != nil:
		return false, err //nolint:wrapcheck // the client names the path
	}
	found := metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(body, &found); err != nil {
		return false, fmt.Errorf("parsing the definition %s: %w", name, err)
	}
	return found.DeletionTimestamp == nil, nil
}

// wished returns whether the deletion of the work is a wish of a user, and not the end of its definition. The API server marks a
// definition before it deletes the first object. So one look suffices for a work.
func (p *pass) wished() (bool, error) {
	if p.state.wished == string(p.work.UID) {
		return true, nil
	}
	definition, err := p.controller.goneDefinition(p.ctx, p.controller.Clock.Now())
	if err != nil {
		return false, err
	}
	if definition == "" {
		p.state.wished = string(p.work.UID)
		return true, nil
	}
	p.controller.Log.Error("a work goes with its definition: its objects stay on the member, and the work takes them "+
		"over when it is there again",
		"work", p.name, "definition", definition)
	return false, p.markGone(definition)
}

// withoutDefinition returns when to look again at a record whose work the hub lacks together with a definition; zero where the hub has the
// definitions. The grace period begins when they are back.
func (p *pass) withoutDefinition() (time.Time, error) {
	now := p.controller.Clock.Now()
	definition, err := p.controller.goneDefinition(p.ctx, now.Add(-definitionInterval/2))
	if err != nil || definition == "" {
		return time.Time{}, err
	}
	p.state.missing = time.Time{}
	p.decide(true)
	return now.Add(definitionInterval), p.markGone(definition)
}

// markGone stores on the record that the work went with a definition; nothing for empty where it has no mark.
func (p *pass) markGone(definition string) error {
	if p.record == nil || p.record.Annotations[DefinitionGoneAnnotation] == definition {
		return nil
	}
	var mark any
	if definition != "" {
		mark = definition
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": p.record.UID, "annotations": map[string]any{DefinitionGoneAnnotation: mark},
	}})
	if err != nil {
		return fmt.Errorf("encoding the annotations of the record: %w", err)
	}
	stored := &workv1.AppliedManifestWork{}
	if err := p.controller.Records.Patch(p.ctx, client.AppliedManifestWork(p.record.Name), patch, stored); err != nil {
		return err //nolint:wrapcheck // the client names the record
	}
	p.record = stored
	return nil
}
