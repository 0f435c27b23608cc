package reader

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/cli/printer"
)

// fakeHub is a hub with scripted answers to lists and watches. It records the requests.
type fakeHub struct {
	client.WithWatch

	lists    []func(*clusterv1.ManagedClusterList) error
	watches  []func() (watch.Interface, error)
	requests []string
}

func (f *fakeHub) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	f.requests = append(f.requests, strings.TrimSpace("list "+options.Continue))
	answer := f.lists[0]
	f.lists = f.lists[1:]
	return answer(list.(*clusterv1.ManagedClusterList))
}

func (f *fakeHub) Watch(_ context.Context, _ client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	f.requests = append(f.requests, "watch from "+(&client.ListOptions{}).ApplyOptions(opts).Raw.ResourceVersion)
	answer := f.watches[0]
	f.watches = f.watches[1:]
	return answer()
}

func namedCluster(name, version string) *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}

// listAnswer is a page of clusters.
func listAnswer(version, more string, names ...string) func(*clusterv1.ManagedClusterList) error {
	return func(list *clusterv1.ManagedClusterList) error {
		list.ResourceVersion, list.Continue = version, more
		for _, name := range names {
			list.Items = append(list.Items, *namedCluster(name, version))
		}
		return nil
	}
}

func listError(err error) func(*clusterv1.ManagedClusterList) error {
	return func(*clusterv1.ManagedClusterList) error { return err }
}

// watchEvents is a watch that sends some events and ends.
func watchEvents(in ...watch.Event) func() (watch.Interface, error) {
	return func() (watch.Interface, error) {
		stream := watch.NewFakeWithChanSize(len(in), false)
		for _, event := range in {
			stream.Action(event.Type, event.Object)
		}
		stream.Stop()
		return stream, nil
	}
}

func watchError(err error) func() (watch.Interface, error) {
	return func() (watch.Interface, error) { return nil, err }
}

func TestListsOfManyPages(t *testing.T) {
	expired := apierrors.NewResourceExpired("too late")
	for name, tc := range map[string]struct {
		lists []func(*clusterv1.ManagedClusterList) error
		want  []string
		asked []string
		err   error
	}{
		"two pages": {
			lists: []func(*clusterv1.ManagedClusterList) error{listAnswer("7", "more", "a"), listAnswer("7", "", "b")},
			want:  []string{"a", "b"}, asked: []string{"list", "list more"},
		},
		"a page that comes too late starts anew": {
			lists: []func(*clusterv1.ManagedClusterList) error{listAnswer("7", "more", "a"), listError(expired), listAnswer("9", "", "b")},
			want:  []string{"b"}, asked: []string{"list", "list more", "list"},
		},
		"a hub that is always too late": {
			lists: []func(*clusterv1.ManagedClusterList) error{listError(expired), listError(expired), listError(expired)},
			asked: []string{"list", "list", "list"}, err: expired,
		},
		"another error ends it": {lists: []func(*clusterv1.ManagedClusterList) error{listError(errBoom)}, asked: []string{"list"}, err: errBoom},
	} {
		t.Run(name, func(t *testing.T) {
			s := &fakeHub{lists: tc.lists}
			var got []string
			_, err := (&HubClient{client: s}).EachObject(t.Context(), ClusterKind(), ListFilter{}, func() { got = nil },
				func(object client.Object) { got = append(got, object.GetName()) })
			if !errors.Is(err, tc.err) || !cmp.Equal(tc.want, got) || !cmp.Equal(tc.asked, s.requests) {
				t.Errorf("got %v and %v, asked %v; want %v and %v, asked %v", got, err, s.requests, tc.want, tc.err, tc.asked)
			}
		})
	}
}

func TestWatchCacheKeepsCurrent(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "managedclusters"}, "", errBoom)
	expired := apierrors.NewResourceExpired("too late")
	bookmark := watch.Event{Type: watch.Bookmark, Object: namedCluster("", "30")}
	broken := func(times int) []func() (watch.Interface, error) {
		var out []func() (watch.Interface, error)
		for range times {
			out = append(out, watchError(errBoom))
		}
		return out
	}
	for name, tc := range map[string]struct {
		lists   []func(*clusterv1.ManagedClusterList) error
		watches []func() (watch.Interface, error)
		want    []string
		asked   []string
		waited  time.Duration
		err     string
	}{
		"it takes up where it was": {
			watches: []func() (watch.Interface, error){
				watchEvents(watch.Event{Type: watch.Added, Object: namedCluster("b", "11")},
					watch.Event{Type: watch.Deleted, Object: namedCluster("a", "12")}),
				watchEvents(bookmark), watchError(errBoom), watchEvents(watch.Event{Type: watch.Added, Object: namedCluster("c", "31")}),
				watchError(forbidden),
			},
			want:   []string{"b", "c"},
			asked:  []string{"watch from 10", "watch from 12", "watch from 30", "watch from 30", "watch from 31"},
			waited: time.Second, err: "reading clusters: the right to watch managedclusters",
		},
		"it lists anew what the hub has forgotten": {
			watches: []func() (watch.Interface, error){
				watchEvents(watch.Event{Type: watch.Error, Object: &expired.ErrStatus}), watchError(expired), watchError(forbidden),
			},
			lists: []func(*clusterv1.ManagedClusterList) error{listAnswer("40", "", "a", "d"), listAnswer("50", "", "e")},
			want:  []string{"e"}, asked: []string{"watch from 10", "list", "watch from 40", "list", "watch from 50"},
			err: "reading clusters: the right to watch managedclusters",
		},
		"it gives up at last": {
			watches: broken(maxFailures), want: []string{"a"},
			asked:  repeated("watch from 10", maxFailures),
			waited: 91 * time.Second, err: "watching failed 8 times in a row: reading clusters: boom",
		},
		"a hub that ends it at once fails": {
			watches: append(append(broken(maxFailures-2), watchEvents()), watchEvents()), want: []string{"a"},
			asked:  repeated("watch from 10", maxFailures),
			waited: 91 * time.Second, err: "watching failed 8 times in a row: reading clusters: the hub ended the watch at once",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &fakeHub{lists: tc.lists, watches: tc.watches}
			m := NewWatchCache(&HubClient{client: s}, Scope{Kinds: []Kind{ClusterKind()}})
			m.objects["ManagedCluster"] = map[client.ObjectKey]client.Object{{Name: "a"}: namedCluster("a", "10")}
			var waited time.Duration
			m.sleep = func(_ context.Context, d time.Duration) { waited += d }
			err := m.KeepCurrent(t.Context(), ClusterKind(), "10")
			if err == nil || !strings.HasPrefix(err.Error(), tc.err) {
				t.Errorf("got %v, want %s", err, tc.err)
			}
			got := printer.SortedKeys(byName(m.objects["ManagedCluster"]))
			if !cmp.Equal(tc.want, got) || !cmp.Equal(tc.asked, s.requests) || waited != tc.waited {
				t.Errorf("got %v, asked %v, waited %v; want %v, asked %v, waited %v", got, s.requests, waited, tc.want, tc.asked, tc.waited)
			}
		})
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := NewWatchCache(&HubClient{client: &fakeHub{watches: []func() (watch.Interface, error){watchError(ctx.Err())}}},
		Scope{Kinds: []Kind{ClusterKind()}})
	if err := m.KeepCurrent(ctx, ClusterKind(), "10"); err != nil {
		t.Errorf("got %v", err)
	}
}

func repeated(text string, times int) []string {
	var out []string
	for range times {
		out = append(out, text)
	}
	return out
}

func byName(in map[client.ObjectKey]client.Object) map[string]client.Object {
	out := map[string]client.Object{}
	for key, object := range in {
		out[key.Name] = object
	}
	return out
}
