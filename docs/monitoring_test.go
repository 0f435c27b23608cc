package docs

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEveryAlertIsDocumented compares the alerts with the page that they link to. Each alert has a summary and a section, and each
// section has an alert.
func TestEveryAlertIsDocumented(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string            `json:"alert"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(root, "config/monitoring/alerts.yaml"))), &rules); err != nil {
		t.Fatal(err)
	}
	const page = "docs/operations/monitoring.md"
	var alerts, sections []string
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			alerts = append(alerts, rule.Alert)
			if rule.Annotations["summary"] == "" || !slices.Contains([]string{"critical", "warning"}, rule.Labels["severity"]) {
				t.Errorf("%s has the summary %q and the severity %q", rule.Alert, rule.Annotations["summary"], rule.Labels["severity"])
			}
			if got, want := rule.Annotations["runbook_url"], page+"#"+strings.ToLower(rule.Alert); got != want {
				t.Errorf("%s leads to %s, want %s", rule.Alert, got, want)
			}
		}
	}
	for _, found := range heading.FindAllStringSubmatch(read(t, filepath.Join(root, page)), -1) {
		if strings.HasPrefix(found[1], "Berth") {
			sections = append(sections, found[1])
		}
	}
	if !slices.Equal(alerts, sections) {
		t.Errorf("alerts %v\nhave sections %v", alerts, sections)
	}
}
