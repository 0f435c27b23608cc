package app

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/internal/controller/grant"
	"github.com/berth-project/berth/internal/webhook/binding"
)

// TestWhatGrantsMarkIsGuarded holds that the loop, the webhook and the condition under which it is called mean one label.
func TestWhatGrantsMarkIsGuarded(t *testing.T) {
	if binding.MadeByLabel != grant.MadeByLabel {
		t.Errorf("the webhook guards %q, and the loop marks with %q", binding.MadeByLabel, grant.MadeByLabel)
	}
	webhooks, err := fs.ReadFile(config.Webhooks(), "webhooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(webhooks), "labels.before[?'"+grant.MadeByLabel+"']") {
		t.Errorf("the webhook is not called when the label %s changes", grant.MadeByLabel)
	}
}
