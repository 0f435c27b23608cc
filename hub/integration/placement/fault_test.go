package placement

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// faultyNetwork is a network with failures. Some requests are refused, some are lost, and the responses of some are lost. Watches
// break.
type faultyNetwork struct {
	mu     sync.Mutex
	random *rand.Rand
	counts map[string]int
	hung   atomic.Int32
}

func (f *faultyNetwork) draw(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(n)
}

func (f *faultyNetwork) record(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[what]++
}

// checkCounts returns an error if a fault has happened too rarely.
func (f *faultyNetwork) checkCounts() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for what, least := range map[string]int{
		"write 409": 5, "write 429": 5, "write 500": 5, "write lost": 5, "write carried out, connection lost": 5,
		"write carried out, never answered": 1, "watch cut": 5,
	} {
		if f.counts[what] < least {
			return fmt.Errorf("%q happened %d times of %d", what, f.counts[what], least)
		}
	}
	return nil
}

// snapshot returns how often each fault happened.
func (f *faultyNetwork) snapshot() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

func (f *faultyNetwork) serve(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	switch {
	case r.URL.Query().Get("watch") != "":
		f.watch(w, r, forward)
	case isWrite(r.Method, r.URL.Path) && f.draw(100) < 45:
		f.write(w, r, forward)
	case r.Method == http.MethodGet && f.draw(100) < 30:
		f.refuse(w, "read", f.draw(3))
	default:
		forward.ServeHTTP(w, r)
	}
}

// watch ends a watch after a moment, or refuses it.
func (f *faultyNetwork) watch(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if f.draw(100) < 30 {
		f.refuse(w, "watch", f.draw(3))
		return
	}
	ctx, cut := context.WithTimeout(r.Context(), time.Duration(100+f.draw(900))*time.Millisecond)
	defer cut()
	f.record("watch cut")
	defer func() {
		_ = recover() // the proxy panics when its response is cut
		panic(http.ErrAbortHandler)
	}()
	forward.ServeHTTP(w, r.WithContext(ctx))
}

func (f *faultyNetwork) write(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if f.hung.Add(1) == 5 { // this request hangs until the timeout of the manager
		f.record("write carried out, never answered")
		forwardOnly(r, forward)
		<-r.Context().Done()
		return
	}
	switch kind := f.draw(5); kind {
	case 3:
		f.record("write lost")
		panic(http.ErrAbortHandler)
	case 4:
		f.record("write carried out, connection lost")
		forwardOnly(r, forward)
		panic(http.ErrAbortHandler)
	default:
		f.refuse(w, "write", kind)
	}
}

// refuse responds instead of the API server.
func (f *faultyNetwork) refuse(w http.ResponseWriter, what string, kind int) {
	status := []metav1.Status{
		{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: "the object has been modified"},
		{Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: "come back later"},
		{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "etcdserver: request timed out"},
	}[kind]
	f.record(fmt.Sprintf("%s %d", what, status.Code))
	status.TypeMeta, status.Status = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, metav1.StatusFailure
	body, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	if kind == 1 {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(body)
}

// selectionRecorder records the clusters that some placements selected, and reports each evicted cluster.
type selectionRecorder struct {
	prefix   string
	seen     map[string]map[string]bool
	lists    int
	problems []string
}

func (s *selectionRecorder) follow(ctx context.Context, f *fleet) {
	for ctx.Err() == nil {
		var list clusterv1beta1.PlacementDecisionList
		if err := f.List(ctx, &list, client.InNamespace(f.namespace)); err != nil {
			continue
		}
		s.lists++
		now := map[string][]clusterv1beta1.PlacementDecision{}
		for _, slice := range list.Items {
			owner := slice.Labels[clusterv1beta1.PlacementLabel]
			if len(owner) > len(s.prefix) && owner[:len(s.prefix)] == s.prefix {
				now[owner] = append(now[owner], slice)
			}
		}
		for owner, stored := range now {
			s.check(owner, kit.ClustersIn(stored))
		}
	}
}

func (s *selectionRecorder) check(owner string, now []string) {
	if s.seen[owner] == nil {
		s.seen[owner] = map[string]bool{}
	}
	for name := range s.seen[owner] {
		if !slices.Contains(now, name) {
			s.problems = append(s.problems, fmt.Sprintf("list %d: %s dropped %s", s.lists, owner, name))
			delete(s.seen[owner], name)
		}
	}
	for _, name := range now {
		s.seen[owner][name] = true
	}
}
