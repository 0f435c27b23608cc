package life

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/checkout"
)

var seed = flag.Uint64("seed", 0, "repeat the history of this seed; 0: a new one")

const recordDefinition = "appliedmanifestworks.work.open-cluster-management.io"

// steps are those of a history that every change must pass.
const steps = 3

// TestNoAccidentLosesAWorkload follows a random life of members that hubs share: after each step every member has what its hubs deliver,
// the same objects as before, and a cluster that is gone has no rights.
func TestNoAccidentLosesAWorkload(t *testing.T) { live(t, steps) }

// TestThePageHasWhatMayHappen compares the first table of docs/operations/life.md with what the histories play.
func TestThePageHasWhatMayHappen(t *testing.T) {
	page := string(kit.Must(os.ReadFile(checkout.Path(t, "docs/operations/life.md"))).In(t))
	_, page, _ = strings.Cut(page, "## What the workloads outlast")
	page, _, _ = strings.Cut(page, "\n## ")
	var rows []string
	for line := range strings.Lines(page) {
		if cells := strings.Split(line, "|"); len(cells) > 1 {
			rows = append(rows, strings.TrimSpace(cells[1]))
		}
	}
	if len(rows) < 3 {
		t.Fatal("the page has no table")
	}
	rows = rows[2:] // the head
	slices.Sort(rows)
	if diff := cmp.Diff(slices.Sorted(maps.Keys((&lives{}).kinds())), rows); diff != "" {
		t.Errorf("events (-played +on the page):\n%s", diff)
	}
}

func live(t *testing.T, steps int) {
	t.Helper()
	fresh := *seed
	if fresh == 0 {
		fresh = rand.Uint64()
	}
	t.Logf("repeat the history with FLAGS=-seed=%d", fresh)
	l := newLives(t, fresh)
	for range steps {
		kinds := l.kinds()
		names := slices.Sorted(maps.Keys(kinds))
		name := names[l.random.IntN(len(names))]
		m, s := l.pickJoined()
		t.Logf("%s: %s on hub %d", name, m.name, s.number)
		kinds[name](m, s)
		l.settle(name)
	}
}

// kinds returns what may happen to a member on a hub.
func (l *lives) kinds() map[string]func(*member, *site) {
	return map[string]func(*member, *site){
		"the agent is killed": func(m *member, s *site) {
			m.agents[s.number].Kill()
			l.startAgent(m, s)
		},
		"the cluster is denied and accepted again": func(m *member, s *site) {
			s.MustMerge(kit.Cluster(m.name), `{"spec":{"hubAcceptsClient":false}}`)
			s.AwaitCondition(kit.Cluster(m.name), clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionFalse, "")
			s.MustMerge(kit.Cluster(m.name), `{"spec":{"hubAcceptsClient":true}}`)
		},
		"the member joins the other hub": func(m *member, s *site) {
			if other := l.hubs[1-s.number]; !m.joined[other.number] {
				l.join(m, other)
			}
		},
		"the member moves from one hub to the other": func(m *member, s *site) {
			if other := l.hubs[1-s.number]; !m.joined[other.number] {
				l.join(m, other)
				l.settle("the member has joined the other hub")
			}
			l.leave(m, s)
		},
		"its records are deleted by hand": func(m *member, s *site) {
			for _, record := range m.records(s) {
				m.MustDeleteExisting(&record)
			}
		},
		"the definition of its records is deleted": func(m *member, _ *site) {
			definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: recordDefinition}}
			m.MustRead(definition)
			before := definition.UID
			m.MustDelete(definition)
			m.Await("the definition of records is made anew", func(ctx context.Context) error {
				err := m.Get(ctx, client.ObjectKeyFromObject(definition), definition)
				if err == nil && definition.UID == before {
					err = fmt.Errorf("the former definition is left: %v: %w", definition.Status.Conditions, errNotYet)
				}
				return err
			})
		},
		"the hub does not respond": func(_ *member, s *site) {
			kit.NoError(l.t, syscall.Kill(s.hub.PID(), syscall.SIGSTOP))
			time.Sleep(2 * leaseSeconds * time.Second) // the agent misses a renewal at least
			kit.NoError(l.t, syscall.Kill(s.hub.PID(), syscall.SIGCONT))
		},
		"a second agent runs with the same credential": func(m *member, s *site) {
			double := hubtest.NewAgent(l.t)
			double.StoreCredential(l.t, s.hub, m.name, "a")
			double.Start(l.t, m.hub)
			l.settle("two agents run")
			double.Kill()
		},
		"the finalizers of the cluster are removed while it is deleted": func(m *member, s *site) {
			m.kept[sharedNamespace], m.kept[s.ownNamespace()] = true, true
			s.MustMerge(kit.Cluster(m.name), fmt.Sprintf(`{"metadata":{"annotations":{%q:"Keep"}}}`, clusterv1.OnDeleteAnnotationKey))
			s.MustDelete(kit.Cluster(m.name))
			s.Await("the cluster is gone without its finalizers", func(ctx context.Context) error {
				err := s.Patch(ctx, kit.Cluster(m.name), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
				if err != nil {
					return client.IgnoreNotFound(err)
				}
				return errNotYet
			})
			s.Await("the rights are gone", func(ctx context.Context) error { return s.check(ctx, m.name, false) })
			l.accept(m, s)
			l.awaitNewWorks(m, s)
		},
		"the namespace of the cluster is deleted": func(m *member, s *site) {
			s.MustDelete(namespaceOf(m))
			l.deliver(m, s)
		},
	}
}

// awaitNewWorks creates the works of a member again until none of them is being deleted.
func (l *lives) awaitNewWorks(m *member, s *site) {
	l.t.Helper()
	s.Await("no work is being deleted", func(ctx context.Context) error {
		works := &workv1.ManifestWorkList{}
		if err := s.List(ctx, works, client.InNamespace(m.name)); err != nil {
			return err
		}
		for i := range works.Items {
			if works.Items[i].DeletionTimestamp != nil {
				return fmt.Errorf("%s is: %w", works.Items[i].Name, errNotYet)
			}
		}
		return nil
	})
	l.deliver(m, s)
}

// leave deletes the cluster of a member on a hub, and what the hub delivers goes, but for what another hub delivers too.
func (l *lives) leave(m *member, s *site) {
	l.t.Helper()
	s.MustDelete(kit.Cluster(m.name))
	s.AwaitGone(kit.Cluster(m.name), namespaceOf(m))
	m.agents[s.number].Stop()
	delete(m.joined, s.number)
}
