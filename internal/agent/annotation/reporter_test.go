package annotation

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/broadcast"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
)

// fakeWriter stores a ManagedCluster. Each error fails one write.
type fakeWriter struct {
	stored string
	errs   []error
	writes int
}

func (w *fakeWriter) GetJSON(context.Context, client.Object) ([]byte, error) {
	return []byte(w.stored), nil
}

func (w *fakeWriter) UpdateJSON(_ context.Context, _ client.Object, body []byte, _ runtime.Object) error {
	w.writes++
	if len(w.errs) > 0 {
		err := w.errs[0]
		w.errs = w.errs[1:]
		return err
	}
	w.stored = string(body)
	return nil
}

// fakeCluster changes when a test sends.
type fakeCluster struct {
	*broadcast.Broadcast
	state cluster.State
}

func (c *fakeCluster) State() cluster.State { return c.state }

// observe makes annotations those of the cluster.
func (c *fakeCluster) observe(annotations map[string]string) {
	c.state = accepted("").state
	c.state.Cluster.Annotations = annotations
	c.Send()
}

// accepted returns an accepted cluster with an annotation.
func accepted(version string) *fakeCluster {
	object := &clusterv1.ManagedCluster{}
	object.Spec.HubAcceptsClient = true
	object.Annotations = map[string]string{clusterv1.AgentVersionAnnotationKey: version}
	return &fakeCluster{&broadcast.Broadcast{}, cluster.State{Cluster: object}}
}

const before = `{"kind":"ManagedCluster","apiVersion":"v1","metadata":{"name":"c1","annotations":{"a":"b"}},"spec":{"later":12345678901234567890}}`

func newReporter(w *fakeWriter, of *fakeCluster) *Reporter {
	return &Reporter{
		Hub: w, Cluster: of, Clock: clock.RealClock{}, Name: "c1", Log: slog.New(slog.DiscardHandler),
		Annotations: map[string]string{clusterv1.AgentVersionAnnotationKey: "v0.1.0", clusterv1.AgentTokenAnnotationKey: "u1/1"},
	}
}

func report(t *testing.T, w *fakeWriter, of *fakeCluster) {
	t.Helper()
	newReporter(w, of).report(t.Context())
}

func TestTheReportKeepsWhatOthersStored(t *testing.T) {
	w := &fakeWriter{stored: before}
	report(t, w, accepted("v0.0.9"))
	const want = `{"apiVersion":"v1","kind":"ManagedCluster","metadata":{"annotations":{"a":"b","agent.open-cluster-management.io/berth-version":"v0.1.0",` +
		`"agent.open-cluster-management.io/token":"u1/1"},"name":"c1"},"spec":{"later":12345678901234567890}}`
	if w.stored != want {
		t.Errorf("stored %s, want %s", w.stored, want)
	}
}

func TestNothingIsWrittenTwice(t *testing.T) {
	w, of := &fakeWriter{stored: before}, accepted("v0.1.0")
	of.state.Cluster.Annotations[clusterv1.AgentTokenAnnotationKey] = "u1/1"
	report(t, w, of)
	if w.writes != 0 {
		t.Errorf("%d writes of stored annotations", w.writes)
	}
}

func TestWhenAWriteIsRepeated(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "managedclusters"}, "c1", nil)
	for sentence, test := range map[string]struct {
		errs []error
		want time.Duration
	}{
		"a refusal, as right after the cluster was accepted": {[]error{refused}, 30 * time.Second},
		"refusals": {[]error{refused, refused, refused}, 3*time.Minute + 30*time.Second},
		"a conflict": {
			[]error{apierrors.NewConflict(schema.GroupResource{Resource: "managedclusters"}, "c1", nil)},
			10 * time.Millisecond,
		},
		"a failure":         {[]error{apierrors.NewInternalError(context.DeadlineExceeded)}, 30 * time.Second},
		"a day of refusals": {slices.Repeat([]error{refused}, 29), time.Duration(30+60+120+240+480+960+1920)*time.Second + 22*time.Hour},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				writes := len(test.errs) + 1
				w, began := &fakeWriter{stored: before, errs: test.errs}, time.Now()
				report(t, w, accepted(""))
				if took := time.Since(began).Round(10 * time.Millisecond); took != test.want || w.writes != writes {
					t.Errorf("%d writes in %s, want %d in %s", w.writes, took, writes, test.want)
				}
			})
		})
	}
}

func TestAReportIsStoredAgainOnAClusterThatWasCreatedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, of := &fakeWriter{stored: before}, accepted("")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go newReporter(w, of).Run(ctx)
		step := func(what string, want int, annotations map[string]string) {
			t.Helper()
			<-time.After(time.Second) // the reporter writes
			of.observe(annotations)
			<-time.After(time.Hour)
			if w.writes != want {
				t.Errorf("%s: %d writes, want %d", what, w.writes, want)
			}
		}
		reported := map[string]string{clusterv1.AgentVersionAnnotationKey: "v0.1.0", clusterv1.AgentTokenAnnotationKey: "u1/1"}
		step("the first report", 1, reported)
		step("another agent reports", 1, map[string]string{
			clusterv1.AgentVersionAnnotationKey: "v0.2.0", clusterv1.AgentTokenAnnotationKey: "u1/2",
		})
		w.stored = before
		of.observe(nil)
		step("the cluster was created again", 2, reported)
	})
}
