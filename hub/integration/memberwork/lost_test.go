package memberwork

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestALostRecordDeletesNothingThatWasAdopted removes the record of a work with an object that it adopted and an object that it created.
// The garbage collector may delete the second before the agent stores the record again.
func TestALostRecordDeletesNothingThatWasAdopted(t *testing.T) {
	f := newFixture(t)
	adopted := f.configMap("a")
	f.create(f.on, adopted)
	w := f.newWork("w", configA, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"b"}}`)
	f.deliver(w)
	f.stop()
	record := kit.Must(f.record(t.Context(), "w")).In(t)
	f.on.MustDelete(record)
	f.on.MustMerge(record, `{"metadata":{"finalizers":null}}`)
	f.start()
	kit.Await(f.t, "the new record has both objects", func(ctx context.Context) error {
		record, err := f.record(ctx, "w")
		if err == nil && len(record.Status.AppliedResources) != 2 {
			err = fmt.Errorf("%w: the record is %+v", errBoom, record.Status)
		}
		return err
	})
	f.remove(w)
	if f.on.MustRead(adopted); adopted.DeletionTimestamp != nil {
		t.Errorf("the adopted object is deleted at %v", adopted.DeletionTimestamp)
	}
	if err := f.gone(t.Context(), f.on, f.configMap("b")); err != nil {
		t.Error(err)
	}
}

// TestARacedCreationDeletesNothing lets another client create an object between the read of the agent and its write, and kills the agent
// before it records what it has seen.
func TestARacedCreationDeletesNothing(t *testing.T) {
	f := newFixture(t)
	f.stop()
	raced := make(chan error, 1)
	f.requests.reset(func(request *http.Request) error {
		switch {
		case request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/configmaps/a"):
			if len(raced) == 0 {
				theirs := f.configMap("a")
				theirs.Data = map[string]string{"theirs": "0"}
				raced <- f.on.Create(context.WithoutCancel(t.Context()), theirs)
			}
		case len(raced) > 0 && request.Method == http.MethodPatch && strings.Contains(request.URL.Path, "appliedmanifestworks"):
			return errBoom
		}
		return nil
	})
	f.start()
	w := f.newWork("w", configA)
	f.create(f.hub, w)
	kit.Await(f.t, "the object is created", func(ctx context.Context) error {
		a := f.configMap("a")
		if err := f.on.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil || a.Data["k"] != "1" {
			return fmt.Errorf("%w: the object is %v, %w", errBoom, a.Data, err)
		}
		return nil
	})
	f.stop()
	if err := <-raced; err != nil {
		t.Fatal(err)
	}
	f.requests.reset(nil)
	f.start()
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
	f.remove(w)
	if a := f.configMap("a"); f.gone(t.Context(), f.on, a) == nil || a.DeletionTimestamp != nil || len(a.OwnerReferences) > 0 {
		t.Errorf("the object of another client is %+v", a.ObjectMeta)
	}
}
