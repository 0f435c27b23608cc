package memberwork

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestALostRecordDeletesNothingThatWasAdopted removes the record of a work with an object that it adopted and an object that it created. The
// garbage collector may delete the second before the agent stores the record again.
func TestALostRecordDeletesNothingThatWasAdopted(t *testing.T) {
	f := newFixture(t)
	adopted := f.configMap("a")
	f.create(f.on, adopted)
	w := f.newWork("w", configA, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"b"}}`)
	f.deliver(w)
	f.stop()
	record, err := f.record(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.on.Delete(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if err := f.on.Patch(t.Context(), record, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.eventually(func(ctx context.Context) error {
		record, err := f.record(ctx, "w")
		if err == nil && len(record.Status.AppliedResources) != 2 {
			err = fmt.Errorf("%w: the record is %+v", errBoom, record.Status)
		}
		return err
	})
	f.remove(w)
	if f.read(adopted); adopted.DeletionTimestamp != nil {
		t.Errorf("the adopted object is deleted at %v", adopted.DeletionTimestamp)
	}
	if err := f.gone(t.Context(), f.on, f.configMap("b")); err != nil {
		t.Error(err)
	}
}
