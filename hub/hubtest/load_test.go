package hubtest

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestALoadCountsWhatBecomesOfItsRequests(t *testing.T) {
	unreviewed, refused := errors.New(`failed calling webhook "w": timeout`), errors.New("refused") //nolint:err113 // of a test
	for sentence, test := range map[string]struct {
		responses []error
		want      LoadCounts
	}{
		"a request that passes": {[]error{nil}, LoadCounts{Sent: 1}},
		"a conflict":            {[]error{apierrors.NewConflict(schema.GroupResource{}, "a", refused)}, LoadCounts{Sent: 1}},
		"a refusal":             {[]error{refused}, LoadCounts{Sent: 1, Lost: Failures{1, []string{"refused"}}}},
		"a webhook that is back": {
			[]error{unreviewed, unreviewed, nil},
			LoadCounts{Sent: 1, Repeated: Failures{1, []string{unreviewed.Error()}}},
		},
		"a webhook that stays away": {
			[]error{unreviewed, unreviewed, unreviewed},
			LoadCounts{Sent: 1, Lost: Failures{1, []string{unreviewed.Error()}}},
		},
		"an API server that is away": {
			[]error{fmt.Errorf("dial: %w", syscall.ECONNREFUSED)},
			LoadCounts{Unreachable: Failures{1, []string{"dial: connection refused"}}},
		},
		"an API server that starts": {
			[]error{apierrors.NewServiceUnavailable("starting")},
			LoadCounts{Unreachable: Failures{1, []string{"starting"}}},
		},
		"a webhook that is refused": {[]error{unreviewed, refused}, LoadCounts{Sent: 1, Lost: Failures{1, []string{"refused"}}}},
		"a request that takes too long": {
			[]error{context.DeadlineExceeded},
			LoadCounts{Unreachable: Failures{1, []string{"context deadline exceeded"}}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			load, sent := NewLoad(t, LoadOptions{InFlight: 1, Timeout: time.Minute, Repeats: 2}), 0
			load.request(t.Context(), func(context.Context) error {
				sent++
				return test.responses[sent-1]
			})
			if diff := cmp.Diff(test.want, load.Counts()); diff != "" || sent != len(test.responses) {
				t.Errorf("after %d requests (-want +got):\n%s", sent, diff)
			}
		})
	}
}

func TestALoadSendsUntilItsEndAndWaitsForItsRequests(t *testing.T) {
	load := NewLoad(t, LoadOptions{InFlight: 2, Timeout: time.Minute})
	third, ended := make(chan struct{}), make(chan struct{})
	load.Send(1000, func(ctx context.Context, number int) error {
		if number == 2 {
			close(third)
			<-ended
		}
		return ctx.Err()
	})
	<-third
	load.cancel()
	close(ended)
	load.End()
	before := load.Counts()
	if before.Sent < 3 || before.Lost.Count > 0 {
		t.Errorf("the load has sent %+v, want three requests at least", before)
	}
	load.Reset()
	if diff := cmp.Diff(LoadCounts{}, load.Counts()); diff != "" {
		t.Errorf("after the end and a reset (-want +got):\n%s", diff)
	}
}
