package remote

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLostFieldsAreNames(t *testing.T) {
	before := []byte(`{"f:metadata":{"f:finalizers":{"v:\"secret\"":{}}},"f:data":{"f:a":{},"f:b":{}},
		"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}},"f:ports":{"k:{\"port\":1234,\"protocol\":\"TCP\"}":{"f:port":{}}}}}`)
	live := parse(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  managedFields:
  - {manager: agent, operation: Apply, fieldsV1: {"f:data": {"f:b": {}}}}
  - {manager: editor, operation: Update, fieldsV1: {"f:data": {"f:a": {}}}}
  - {manager: other, operation: Update, fieldsV1: {"f:data": {"f:c": {}}}}
`)
	managers, fields := Lost(before, live, "agent")
	if diff := cmp.Diff([]string{"editor"}, managers); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
	want := []string{".data.a", ".metadata.finalizers[]", ".spec.containers[name=web].image", ".spec.ports[port,protocol].port"}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestNothingIsLostWithoutAnEarlierApply(t *testing.T) {
	if managers, fields := Lost(nil, parse(t, `{metadata: {name: a}}`), "agent"); managers != nil || fields != nil {
		t.Errorf("Lost = %v, %v", managers, fields)
	}
}
