package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// kindsLifetime is how long the kinds of a group version are used without another look. missLifetime is the same while a kind is unknown,
// and failureLifetime after a look that failed.
const (
	missLifetime    = time.Second
	failureLifetime = 5 * time.Second
	kindsLifetime   = 10 * time.Minute
	// maxGroupVersions bounds the group versions that are kept. Works may name any.
	maxGroupVersions = 256
)

// raw reads a path of the member.
type raw interface {
	GetRaw(ctx context.Context, at string) (body []byte, code int, err error)
}

// kinds maps kinds to resources by what the member serves. It reads only the group versions that works name. A group version that does not
// respond delays only the works that name it. It is safe for concurrent use.
type kinds struct {
	member raw
	clock  clock.PassiveClock

	mu   sync.Mutex
	read map[schema.GroupVersion]*served
}

// served is what the member serves in one group version. One request reads it at a time.
type served struct {
	mu        sync.Mutex
	resources []metav1.APIResource
	// err is why the last look failed.
	err error
	at  time.Time
}

// resource returns the resource of a kind.
func (k *kinds) resource(ctx context.Context, kind schema.GroupVersionKind) (name string, namespaced bool, err error) {
	found := k.of(kind.GroupVersion())
	found.mu.Lock()
	defer found.mu.Unlock()
	at, age := indexOf(found.resources, kind.Kind), k.clock.Since(found.at)
	switch {
	case found.err != nil && age <= failureLifetime:
		return "", false, found.err
	case found.err != nil, at < 0 && age > missLifetime, age > kindsLifetime:
		resources, err := k.list(ctx, kind.GroupVersion())
		if ctx.Err() == nil { // the failure is that of the pass, not of the member
			found.err, found.at = err, k.clock.Now()
		}
		if err != nil {
			return "", false, err
		}
		found.resources = resources
		at = indexOf(resources, kind.Kind)
	}
	if at < 0 {
		return "", false, object.UnknownKindError{Kind: kind}
	}
	return found.resources[at].Name, found.resources[at].Namespaced, nil
}

// of returns what is kept of a group version.
func (k *kinds) of(version schema.GroupVersion) *served {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.read[version]
	if found == nil {
		if len(k.read) >= maxGroupVersions {
			clear(k.read) // those in use are read again
		}
		found = &served{}
		k.read[version] = found
	}
	return found
}

func indexOf(resources []metav1.APIResource, kind string) int {
	return slices.IndexFunc(resources, func(each metav1.APIResource) bool { return each.Kind == kind && !strings.Contains(each.Name, "/") })
}

// list reads the kinds of a group version; none where the member does not serve it.
func (k *kinds) list(ctx context.Context, version schema.GroupVersion) ([]metav1.APIResource, error) {
	at := "/apis/" + version.String()
	if version.Group == "" {
		at = "/api/" + version.Version
	}
	body, code, err := k.member.GetRaw(ctx, at)
	if code == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kinds of the member: %w", err)
	}
	list := metav1.APIResourceList{}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("parsing the kinds of %s: %w", version, err)
	}
	return list.APIResources, nil
}
