package admission

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/checkout"
)

// TestZeroValuesAreAccepted creates objects as Go programs write them, with zeros for absent fields, while the webhooks check.
func TestZeroValuesAreAccepted(t *testing.T) {
	requireWebhooks(t)
	files, err := filepath.Glob(filepath.Join(checkout.Path(t, "hack/crdtest/testdata"), "zero", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no objects: %v", err)
	}
	administrator := admin(t)
	for _, file := range files {
		content := kit.Must(os.Open(file)).In(t)
		defer content.Close()
		for lines := bufio.NewScanner(content); lines.Scan(); {
			var line struct {
				Object map[string]any `json:"object"`
				Set    string         `json:"set"`
			}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			object := asObject(line.Object)
			if kind := object.GetKind(); kind == "ClusterClaim" || kind == "AppliedManifestWork" {
				continue // members serve them
			}
			create := func(ctx context.Context) error {
				_, err := administrator.resourceFor(object.Object).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				return err
			}
			err := create(t.Context())
			if err != nil && strings.Contains(err.Error(), "conversion webhook") {
				// The definition may have the address of a manager that another test stopped.
				kit.Await(t, "the conversion of the present manager", create)
			} else if err != nil {
				t.Errorf("%s with %q set to zero: %v", filepath.Base(file), line.Set, err)
			}
		}
	}
}

// TestAGroupSizeThatNoClientReadsIsRefused sends numbers that Go clients cannot read into their types, or that mean nothing.
func TestAGroupSizeThatNoClientReadsIsRefused(t *testing.T) {
	requireWebhooks(t)
	for _, size := range []int64{99999999999, -99999999999, -1} {
		sized := placement("default", "sized", map[string]any{"decisionStrategy": map[string]any{
			"groupStrategy": map[string]any{"clustersPerDecisionGroup": size},
		}})
		err := admin(t).create(t.Context(), sized)
		if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "clustersPerDecisionGroup") {
			t.Errorf("%d clusters in a group: got %v, want a refusal that names clustersPerDecisionGroup", size, err)
		}
	}
}
