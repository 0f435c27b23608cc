package install

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/install/takeover"
)

// TestTheTimeOfVerifyEndsWithinAComparison has lists that take longer than --timeout, or fail by a timeout of their own.
func TestTheTimeOfVerifyEndsWithinAComparison(t *testing.T) {
	for name, test := range map[string]struct {
		failure error
		want    error
		printed string
	}{
		"a slow comparison is finished":  {nil, command.UnsatisfiedError{}, "placement shop/web: 0 clusters, 2 before"},
		"a request with a timeout fails": {context.DeadlineExceeded, context.DeadlineExceeded, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kinds := runtime.NewScheme()
				for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1beta1.AddToScheme, workv1.AddToScheme} {
					if err := add(kinds); err != nil {
						t.Fatal(err)
					}
				}
				hub := interceptor.NewClient(fake.NewClientBuilder().WithScheme(kinds).Build(), interceptor.Funcs{
					List: func(ctx context.Context, hub client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
						select {
						case <-ctx.Done():
							return ctx.Err()
						case <-time.After(2 * time.Minute):
						}
						if test.failure != nil {
							return test.failure
						}
						return hub.List(ctx, list, options...)
					},
				})
				record := takeover.Record{State: &takeover.State{Decisions: map[string]takeover.Fingerprint{"shop/web": {Count: 2, Hash: "x"}}}}
				if err := record.Save(t.Context(), hub); err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				o := &takeoverOptions{streams: genericiooptions.IOStreams{Out: &out}, verifyTimeout: time.Minute}
				if err := o.verify(t.Context(), hub); !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				if !strings.Contains(out.String(), test.printed) {
					t.Errorf("printed:\n%s\nwithout %q", out.String(), test.printed)
				}
			})
		})
	}
}
