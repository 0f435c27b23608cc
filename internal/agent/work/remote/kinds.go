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

// missLifetime is how long an unknown kind stays unknown without another look; kindsLifetime is the same for known ones.
const (
	missLifetime  = time.Second
	kindsLifetime = 10 * time.Minute
)

// raw reads a path of the member.
type raw interface {
	GetRaw(ctx context.Context, at string) (body []byte, code int, err error)
}

// kinds maps kinds to resources by what the member serves. It reads one group version at a time, and only those that works name. It is
// safe for concurrent use.
type kinds struct {
	member raw
	clock  clock.PassiveClock

	mu   sync.Mutex
	read map[schema.GroupVersion]served
}

// served is what the member serves in one group version.
type served struct {
	resources []metav1.APIResource
	at        time.Time
}

// resource returns the resource of a kind.
func (k *kinds) resource(ctx context.Context, kind schema.GroupVersionKind) (name string, namespaced bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.read[kind.GroupVersion()]
	at, age := indexOf(found.resources, kind.Kind), k.clock.Since(found.at)
	if at < 0 && age > missLifetime || age > kindsLifetime {
		if found, err = k.list(ctx, kind.GroupVersion()); err != nil {
			return "", false, err
		}
		at = indexOf(found.resources, kind.Kind)
	}
	if at < 0 {
		return "", false, object.UnknownKindError{Kind: kind}
	}
	return found.resources[at].Name, found.resources[at].Namespaced, nil
}

func indexOf(resources []metav1.APIResource, kind string) int {
	return slices.IndexFunc(resources, func(each metav1.APIResource) bool { return each.Kind == kind && !strings.Contains(each.Name, "/") })
}

func (k *kinds) list(ctx context.Context, version schema.GroupVersion) (served, error) {
	at := "/apis/" + version.String()
	if version.Group == "" {
		at = "/api/" + version.Version
	}
	body, code, err := k.member.GetRaw(ctx, at)
	out := served{at: k.clock.Now()}
	if err != nil && code != http.StatusNotFound {
		return out, fmt.Errorf("reading the kinds of the member: %w", err)
	}
	if err == nil {
		list := metav1.APIResourceList{}
		if err := json.Unmarshal(body, &list); err != nil {
			return out, fmt.Errorf("parsing the kinds of %s: %w", version, err)
		}
		out.resources = list.APIResources
	}
	k.read[version] = out
	return out, nil
}
