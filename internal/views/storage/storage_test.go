package storage_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	clocktesting "k8s.io/utils/clock/testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/views/limit"
	"github.com/berth-project/berth/internal/views/storage"
	"github.com/berth-project/berth/internal/views/viewcache"
	"github.com/berth-project/berth/internal/views/visibility"
)

// fixture is a cache and the storage that serves it.
type fixture struct {
	clock   *clocktesting.FakeClock
	cache   *viewcache.Cache
	sets    *storage.Storage
	version int
}

func newFixture(changes ...func(*fixture, *visibility.Edit)) *fixture {
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	h := &fixture{clock: clock, cache: viewcache.New(clock, 7)}
	h.sets = storage.Sets(storage.Options{Cache: h.cache, Clock: clock, Watches: limit.NewCounter(3, 5)}, nil)
	h.change(changes...)
	return h
}

func (f *fixture) change(changes ...func(*fixture, *visibility.Edit)) {
	f.clock.Step(time.Second)
	for _, change := range changes {
		f.cache.Stage(func(e *visibility.Edit) { change(f, e) })
	}
	f.cache.Publish()
}

func set(name, colour string) func(*fixture, *visibility.Edit) {
	return func(h *fixture, e *visibility.Edit) {
		h.version++
		stored := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), ResourceVersion: strconv.Itoa(h.version), Labels: map[string]string{"colour": colour},
		}}
		stored.SetGroupVersionKind(clusterv1beta2.GroupVersion.WithKind("ManagedClusterSet")) // as of an object that was listed
		e.SetSet(stored)
	}
}

func gone(name string) func(*fixture, *visibility.Edit) {
	return func(_ *fixture, e *visibility.Edit) { e.DeleteSet(name) }
}

// visible makes exactly these sets visible to jane.
func visible(names ...string) func(*fixture, *visibility.Edit) {
	return func(_ *fixture, e *visibility.Edit) {
		e.SetRole(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{{
			Verbs: []string{"get"}, APIGroups: []string{clusterv1.GroupName}, Resources: []string{"managedclustersets"},
			ResourceNames: append(names, "no such set"),
		}}})
		e.SetBinding(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: "jane"}},
		})
	}
}

func as(t *testing.T, name string) context.Context {
	t.Helper()
	return genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: name})
}

func (f *fixture) list(t *testing.T, options metainternalversion.ListOptions) (names []string, list metav1.ListInterface) {
	t.Helper()
	object, err := f.sets.List(as(t, "jane"), &options)
	if err != nil {
		t.Fatal(err)
	}
	list, err = meta.ListAccessor(object)
	if err != nil {
		t.Fatal(err)
	}
	names = []string{}
	err = meta.EachListItem(object, func(item runtime.Object) error {
		names = append(names, item.(metav1.Object).GetName())
		if of := item.GetObjectKind().GroupVersionKind(); !of.Empty() {
			t.Errorf("%s names the API of the stored objects: %s", names[len(names)-1], of)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, list
}

func matching(t *testing.T, labelSelector, fieldSelector string) metainternalversion.ListOptions {
	t.Helper()
	byLabel, err := labels.Parse(labelSelector)
	if err != nil {
		t.Fatal(err)
	}
	byField, err := fields.ParseSelector(fieldSelector)
	if err != nil {
		t.Fatal(err)
	}
	return metainternalversion.ListOptions{LabelSelector: byLabel, FieldSelector: byField}
}

func TestGet(t *testing.T) {
	h := newFixture(set("a", "red"), set("b", "red"), visible("a"))
	object, err := h.sets.Get(as(t, "jane"), "a", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := object.(metav1.Object).GetName(); got != "a" {
		t.Errorf("got %s", got)
	}
	_, hidden := h.sets.Get(as(t, "jane"), "b", &metav1.GetOptions{})
	_, absent := h.sets.Get(as(t, "jane"), "c", &metav1.GetOptions{})
	if !apierrors.IsNotFound(hidden) || !apierrors.IsNotFound(absent) {
		t.Errorf("hidden: %v, absent: %v, want not found", hidden, absent)
	}
	if _, err := h.sets.Get(t.Context(), "a", &metav1.GetOptions{}); err == nil {
		t.Error("a request without a user got an object")
	}
}

func TestServedObjectsAreCopies(t *testing.T) {
	h := newFixture(set("a", "red"), visible("a"))
	first, _ := h.sets.Get(as(t, "jane"), "a", &metav1.GetOptions{})
	first.GetObjectKind().SetGroupVersionKind(clusterv1beta2.SchemeGroupVersion.WithKind("X"))
	first.(metav1.Object).SetName("spoiled")
	second, err := h.sets.Get(as(t, "jane"), "a", &metav1.GetOptions{})
	if err != nil || second.(metav1.Object).GetName() != "a" || second.GetObjectKind().GroupVersionKind().Kind != "" {
		t.Errorf("a reader got the changes of another reader to its copy: %v, %v", second, err)
	}
}

func TestListSelectsVisibleObjects(t *testing.T) {
	h := newFixture(set("a", "red"), set("b", "blue"), set("c", "red"), set("secret", "red"), visible("a", "b", "c"))
	for sentence, test := range map[string]struct {
		labels, fields string
		want           []string
	}{
		"everything":                      {want: []string{"a", "b", "c"}},
		"by label":                        {labels: "colour=red", want: []string{"a", "c"}},
		"by the absence of a value":       {labels: "colour!=blue", want: []string{"a", "c"}},
		"by name":                         {fields: "metadata.name=b", want: []string{"b"}},
		"by another name":                 {fields: "metadata.name!=b", want: []string{"a", "c"}},
		"by both":                         {labels: "colour=red", fields: "metadata.name=b", want: []string{}},
		"by the name of an invisible set": {fields: "metadata.name=secret", want: []string{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, list := h.list(t, matching(t, test.labels, test.fields))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if list.GetRemainingItemCount() != nil || list.GetContinue() != "" {
				t.Errorf("a whole list has a continue token or a count: %v", list)
			}
		})
	}
}

func TestLimitReturnsTheWholeList(t *testing.T) {
	h := newFixture(set("a", "red"), set("b", "blue"), set("c", "red"), set("secret", "red"), visible("a", "b", "c"))
	options := matching(t, "colour=red", "")
	options.Limit = 1
	got, list := h.list(t, options)
	if diff := cmp.Diff([]string{"a", "c"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if list.GetContinue() != "" || list.GetRemainingItemCount() != nil {
		t.Errorf("a whole list has a continue token or a count: %v", list)
	}
	options.Continue = "a token of an earlier version"
	if _, err := h.sets.List(as(t, "jane"), &options); !apierrors.IsResourceExpired(err) {
		t.Errorf("with a token: %v, want expired, so that clients list again", err)
	}
}

func TestResourceVersionsOfLists(t *testing.T) {
	h := newFixture(set("a", "red"), visible("a", "b"))
	_, list := h.list(t, metainternalversion.ListOptions{})
	seen := list.GetResourceVersion()
	h.change(set("b", "red"))
	foreign := viewcache.New(h.clock, 8).Current()
	for sentence, test := range map[string]struct {
		version string
		match   metav1.ResourceVersionMatch
		want    []string
		fault   func(error) bool
	}{
		"any":                                {version: "0", want: []string{"a", "b"}},
		"the latest":                         {want: []string{"a", "b"}},
		"not older than an observed version": {version: seen, want: []string{"a", "b"}},
		"exactly one seen":                   {version: seen, match: metav1.ResourceVersionMatchExact, fault: apierrors.IsResourceExpired},
		"of another server":                  {version: strconv.FormatUint(foreign.Revision, 10), fault: apierrors.IsResourceExpired},
		"exactly an old one":                 {version: "1", match: metav1.ResourceVersionMatchExact, fault: apierrors.IsResourceExpired},
		"no number":                          {version: "x", fault: apierrors.IsBadRequest},
	} {
		t.Run(sentence, func(t *testing.T) {
			options := metainternalversion.ListOptions{ResourceVersion: test.version, ResourceVersionMatch: test.match}
			if test.fault != nil {
				if _, err := h.sets.List(as(t, "jane"), &options); !test.fault(err) {
					t.Errorf("error %v", err)
				}
				return
			}
			if got, _ := h.list(t, options); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// watcher collects events as text: "+a", "-a", "~a", and "bookmark".
type watcher struct {
	t  *testing.T
	it watch.Interface
	// version is the version of the last event.
	version string
}

func (f *fixture) watch(t *testing.T, options metainternalversion.ListOptions) *watcher {
	t.Helper()
	it, err := f.sets.Watch(as(t, "jane"), &options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(it.Stop)
	return &watcher{t: t, it: it}
}

func (w *watcher) next() string {
	w.t.Helper()
	event, ok := <-w.it.ResultChan()
	if !ok {
		return "end"
	}
	object := event.Object.(metav1.Object)
	w.version = object.GetResourceVersion()
	switch event.Type {
	case watch.Added:
		return "+" + object.GetName()
	case watch.Modified:
		return "~" + object.GetName()
	case watch.Deleted:
		return "-" + object.GetName() + " " + object.GetLabels()["colour"]
	case watch.Bookmark:
		if object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			return "bookmark after the initial events"
		}
		return "bookmark"
	default:
		return fmt.Sprint(event)
	}
}

func (w *watcher) wants(events ...string) {
	w.t.Helper()
	for _, want := range events {
		if got := w.next(); got != want {
			w.t.Fatalf("event %q, want %q", got, want)
		}
	}
}

func TestWatchFollowsVisibleObjects(t *testing.T) {
	h := newFixture(set("a", "red"), set("b", "red"), visible("a"))
	_, list := h.list(t, metainternalversion.ListOptions{})
	w := h.watch(t, metainternalversion.ListOptions{ResourceVersion: list.GetResourceVersion()})
	h.change(set("b", "blue"))
	h.change(set("a", "blue"))
	w.wants("~a")
	h.change(visible("a", "b"))
	w.wants("+b")
	h.change(visible("b"))
	w.wants("-a blue")
	h.change(set("a", "green"), set("b", "green"))
	w.wants("~b")
	h.change(gone("a"), gone("b"))
	w.wants("-b green")
}

func TestAnObjectThatBecomesInvisibleIsDeletedAsItWasVisible(t *testing.T) {
	h := newFixture(set("a", "red"), visible("a"))
	w := h.watch(t, metainternalversion.ListOptions{})
	w.wants("+a")
	h.change(set("a", "secret"), visible())
	w.wants("-a red")
}

func TestWatchSelects(t *testing.T) {
	h := newFixture(set("a", "red"), set("b", "blue"), set("secret", "red"), visible("a", "b"))
	w := h.watch(t, matching(t, "colour=red", ""))
	w.wants("+a")
	h.change(set("b", "red"))
	w.wants("+b")
	h.change(set("a", "blue"), set("secret", "blue"))
	w.wants("-a red")
	h.change(set("secret", "red"), set("b", "red"))
	w.wants("~b")
}

func TestWatchContinuesFromAVersion(t *testing.T) {
	h := newFixture(set("a", "red"), visible("a", "b", "c", "d"))
	_, list := h.list(t, metainternalversion.ListOptions{})
	h.change(set("b", "red"))
	h.change(set("c", "red"), set("d", "red"), gone("a"))
	w := h.watch(t, metainternalversion.ListOptions{ResourceVersion: list.GetResourceVersion()})
	w.wants("-a red", "+b")
	if _, err := h.sets.Watch(as(t, "jane"), &metainternalversion.ListOptions{ResourceVersion: w.version}); !apierrors.IsResourceExpired(err) {
		t.Errorf("continuing between changes at the same time: %v, want expired", err)
	}
	if got, _ := h.list(t, metainternalversion.ListOptions{ResourceVersion: w.version}); len(got) != 3 {
		t.Errorf("listing not older than that version: %v", got)
	}
	w.wants("+c", "+d")
	w.it.Stop()
	h.change(set("b", "blue"))
	h.watch(t, metainternalversion.ListOptions{ResourceVersion: w.version}).wants("~b")
}

func TestWatchFromTooLongAgo(t *testing.T) {
	h := newFixture(set("a", "red"), visible("a"))
	_, list := h.list(t, metainternalversion.ListOptions{})
	options := metainternalversion.ListOptions{ResourceVersion: list.GetResourceVersion()}
	h.clock.Step(time.Hour)
	h.watch(t, options) // without a change since
	h.change(set("a", "blue"))
	h.watch(t, options).wants("~a")
	h.clock.Step(time.Hour)
	if _, err := h.sets.Watch(as(t, "jane"), &options); !apierrors.IsResourceExpired(err) {
		t.Errorf("error %v, want expired", err)
	}
}

func TestWatchStartsWithThePermissionsOfItsVersion(t *testing.T) {
	h := newFixture(set("a", "red"), set("b", "red"), visible("a"))
	_, list := h.list(t, metainternalversion.ListOptions{})
	h.change(visible("b"))
	h.watch(t, metainternalversion.ListOptions{ResourceVersion: list.GetResourceVersion()}).wants("-a red", "+b")
}

func TestWatchStarts(t *testing.T) {
	yes, no := true, false
	for sentence, test := range map[string]struct {
		options metainternalversion.ListOptions
		want    []string
	}{
		"with all objects": {want: []string{"+a", "+b", "~a"}},
		"with all objects, at any version": {
			options: metainternalversion.ListOptions{ResourceVersion: "0"}, want: []string{"+a", "+b", "~a"},
		},
		"with all objects, and a bookmark after them": {
			options: metainternalversion.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true},
			want:    []string{"+a", "+b", "bookmark after the initial events", "~a"},
		},
		"with nothing": {options: metainternalversion.ListOptions{SendInitialEvents: &no}, want: []string{"~a"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newFixture(set("a", "red"), set("b", "red"), visible("a", "b"))
			w := h.watch(t, test.options)
			w.wants(test.want[:len(test.want)-1]...)
			h.change(set("a", "blue"))
			w.wants(test.want[len(test.want)-1])
		})
	}
}

func TestBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(set("a", "red"), set("secret", "red"), visible("a"))
		w := h.watch(t, metainternalversion.ListOptions{AllowWatchBookmarks: true})
		w.wants("+a")
		h.change(set("secret", "blue"))
		synctest.Wait()
		h.clock.Step(time.Minute)
		w.wants("bookmark")
		h.change(set("secret", "green"), set("a", "blue"))
		h.watch(t, metainternalversion.ListOptions{ResourceVersion: w.version}).wants("~a")
	})
}

func TestSlowWatchersAreEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{}
		changes := []func(*fixture, *visibility.Edit){}
		for i := range 40 {
			names = append(names, fmt.Sprintf("s%02d", i))
			changes = append(changes, set(names[i], "red"))
		}
		h := newFixture(append(changes, visible(names...))...)
		w := h.watch(t, metainternalversion.ListOptions{})
		w.wants("+s00")
		synctest.Wait()
		h.clock.Step(31 * time.Second)
		synctest.Wait()
		got := 1
		for w.next() != "end" {
			got++
		}
		if got < 17 || got == 40 {
			t.Errorf("a client that does not read got %d events, want some, and then the end", got)
		}
	})
}

// TestWatchesAreBounded opens watches up to the limit of one user and up to the limit in all.
func TestWatchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(set("a", "red"), visible("a"))
		open := func(name string) (watch.Interface, error) {
			return h.sets.Watch(as(t, name), &metainternalversion.ListOptions{})
		}
		var jane []watch.Interface
		for range 3 {
			opened, err := open("jane")
			if err != nil {
				t.Fatal(err)
			}
			jane = append(jane, opened)
		}
		if _, err := open("jane"); !apierrors.IsTooManyRequests(err) {
			t.Errorf("one watch more of a user: %v, want it refused", err)
		}
		joe, err := open("joe")
		if err != nil {
			t.Errorf("the first of another user: %v", err)
		}
		if _, err := open("joe"); err != nil {
			t.Errorf("the second of another user: %v", err)
		}
		if _, err := open("jim"); !apierrors.IsTooManyRequests(err) {
			t.Errorf("one watch more than the limit: %v, want it refused", err)
		}
		joe.Stop()
		synctest.Wait()
		if _, err := open("jim"); err != nil {
			t.Errorf("after one has ended: %v", err)
		}
		for _, opened := range jane {
			opened.Stop()
		}
	})
}
