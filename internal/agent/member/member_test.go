package member

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

func TestHealthChangesAfterTwentySecondsOfFailures(t *testing.T) {
	type probe struct {
		at      int
		failure string
	}
	for sentence, test := range map[string]struct {
		probes  []probe
		known   bool
		healthy bool
		message string
	}{
		"no probe":                            {nil, false, false, ""},
		"a success":                           {[]probe{{0, ""}}, true, true, ""},
		"the first probe fails":               {[]probe{{0, "a"}}, false, false, ""},
		"a failure after a success":           {[]probe{{0, ""}, {10, "a"}}, true, true, ""},
		"failures for less than 20 s":         {[]probe{{0, ""}, {10, "a"}, {29, "a"}}, true, true, ""},
		"failures for 20 s":                   {[]probe{{0, ""}, {10, "a"}, {20, "b"}, {30, "c"}}, true, false, "c"},
		"the message of a failure stays":      {[]probe{{0, "a"}, {20, "b"}, {25, "c"}}, true, false, "b"},
		"a success between starts again":      {[]probe{{0, "a"}, {15, ""}, {20, "a"}, {35, "a"}}, true, true, ""},
		"never healthy, and failing for 20 s": {[]probe{{0, "a"}, {20, "a"}}, true, false, "a"},
		"healthy again":                       {[]probe{{0, "a"}, {20, "a"}, {25, ""}}, true, true, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			health := Health{}
			for _, p := range test.probes {
				health = health.observe(p.failure, time.Unix(int64(p.at), 0))
			}
			if health.Known != test.known || health.Healthy != test.healthy || health.Message != test.message {
				t.Errorf("health = %+v", health)
			}
		})
	}
}

func TestProbeFailureIsBounded(t *testing.T) {
	for sentence, test := range map[string]struct {
		body []byte
		code int
		err  error
		want string
	}{
		"a success":   {[]byte("ok"), 200, nil, ""},
		"no response": {nil, 0, errors.New("dial tcp 10.0.0.1:6443: refused"), "The API server of the cluster does not respond"},
		"a failure":   {[]byte("etcd failed"), 500, errors.New("500"), `The API server of the cluster is not healthy: status 500, "etcd failed"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, probeFailure(test.body, test.code, test.err)); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
	if got := len(probeFailure([]byte(strings.Repeat("x", 1<<16)), 500, nil)); got > 2*maxProbeText {
		t.Errorf("the message has %d bytes", got)
	}
	if fallback(500) || !fallback(404) || !fallback(403) {
		t.Error("/healthz replaces /livez on 404 and 403 only")
	}
}

func TestSlimKeepsWhatAReportIsMadeOf(t *testing.T) {
	resources := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	full := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///i-1", Unschedulable: true, PodCIDR: "10.0.0.0/24"},
		Status:     corev1.NodeStatus{Capacity: resources, Allocatable: resources, Images: make([]corev1.ContainerImage, 50)},
	}
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///i-1", Unschedulable: true},
		Status:     corev1.NodeStatus{Capacity: resources, Allocatable: resources},
	}
	got, err := slim(full)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
}

// TestAnEmptyListIsReported has a member without a node, whose list takes a moment: it has no event.
func TestAnEmptyListIsReported(t *testing.T) {
	answer := make(chan struct{})
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			<-answer
			return &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}, doesNotSupportWatchList{})
	changes := make(chan bool, 8)
	nodes := &nodeCache{}
	nodes.changed = func() {
		_, complete := nodes.list()
		changes <- complete
	}
	nodes.store, nodes.informer = newInformer(source, &corev1.Node{}, slim, nodes.changed)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { nodes.run(ctx) })
	close(answer)
	select {
	case complete := <-changes:
		if !complete {
			t.Error("the list is not complete")
		}
	case <-time.After(30 * time.Second):
		t.Error("no change was reported")
	}
	cancel()
	running.Wait()
}

// doesNotSupportWatchList makes an informer list.
type doesNotSupportWatchList struct{}

func (doesNotSupportWatchList) IsWatchListSemanticsUnSupported() bool { return true }
