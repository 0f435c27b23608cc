package placement

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/placement/live"
)

// TestTheFirstDecisionWaitsForTaints of clusters that never joined, for a bounded time.
func TestTheFirstDecisionWaitsForTaints(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		none, canceled bool
		// after is when the clusters are tainted.
		after, want time.Duration
		err         error
	}{
		"the clusters are tainted soon": {after: time.Second, want: time.Second},
		"a cluster cannot be tainted":   {after: time.Hour, want: taintTimeout},
		"the health controller is off":  {none: true},
		"the manager ends":              {after: time.Hour, canceled: true, err: context.Canceled},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.canceled {
					cancel()
				}
				s := &source{clock: clock.RealClock{}, cache: &informertest.FakeInformers{Scheme: scheme}}
				s.fleet, s.stored = live.New(nil, s.clock, nil, nil)
				if !test.none {
					tainted := make(chan struct{})
					stop := time.AfterFunc(test.after, func() { close(tainted) })
					defer stop.Stop()
					s.tainted = tainted
				}
				began := time.Now()
				if err := s.waitForTaints(ctx); !errors.Is(err, test.err) {
					t.Errorf("error %v, want %v", err, test.err)
				}
				if got := time.Since(began); got != test.want {
					t.Errorf("the first decision waits for %s, want %s", got, test.want)
				}
			})
		})
	}
}
