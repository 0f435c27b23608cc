package manager

import (
	"io/fs"
	"strings"
	"testing"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/config"
)

// TestTheGrantLabelIsGuarded checks that the match condition of the webhook names the labels that the webhook guards.
func TestTheGrantLabelIsGuarded(t *testing.T) {
	webhooks, err := fs.ReadFile(config.Webhooks(), "webhooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{clusterv1beta2.MadeByLabel, clusterv1beta2.DeprecatedMadeByLabel} {
		if !strings.Contains(string(webhooks), "labels.before[?'"+key+"']") {
			t.Errorf("the webhook is not called when the label %s changes", key)
		}
	}
}
