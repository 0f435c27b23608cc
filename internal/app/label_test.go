package app

import (
	"io/fs"
	"strings"
	"testing"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/config"
)

// TestTheGrantLabelIsGuarded holds that the condition under which the webhook is called means the label that it guards.
func TestTheGrantLabelIsGuarded(t *testing.T) {
	webhooks, err := fs.ReadFile(config.Webhooks(), "webhooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(webhooks), "labels.before[?'"+clusterv1beta2.MadeByLabel+"']") {
		t.Errorf("the webhook is not called when the label %s changes", clusterv1beta2.MadeByLabel)
	}
}
