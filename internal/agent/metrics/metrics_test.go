package metrics

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// page returns what the handler serves.
func page(m *Metrics) string {
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return recorder.Body.String()
}

func TestEveryMetricIsServedUnderItsDefinition(t *testing.T) {
	m := New()
	m.Moved("", StateApplying)
	m.Moved(StateApplying, StateHealthy)
	m.Reached(StageApplied, -time.Second)
	m.Wrote(VerbApply, "configmaps", errors.New("boom"))
	m.Repaired()
	m.Held(3)
	m.ReportedUsage(nil)
	text := page(m)
	for _, definition := range Definitions() {
		if !strings.Contains(text, "# HELP "+definition.Name+" "+definition.Help+"\n# TYPE "+definition.Name+" "+definition.Type+"\n") {
			t.Errorf("%s is not served as it is documented", definition.Name)
		}
	}
	for _, line := range []string{
		`berth_agent_works{state="applying"} 0`, `berth_agent_works{state="healthy"} 1`, `berth_agent_work_apply_seconds_sum{stage="applied"} 0`,
		`berth_agent_writes_total{resource="configmaps",result="failure",verb="apply"} 1`, `berth_agent_drift_repairs_total 1`,
		`berth_agent_evictions_held 3`,
		`berth_agent_usage_reports_total{result="success"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is missing in\n%s", line, text)
		}
	}
	if m.Reset(); !strings.Contains(page(m), `berth_agent_works{state="healthy"} 0`) {
		t.Error("a reset keeps works")
	}
}

func TestTheSeriesOfResourcesAreBounded(t *testing.T) {
	m := New()
	for i := range 2 * maxResources {
		m.Wrote(VerbApply, fmt.Sprint("r", i), nil)
	}
	if got := strings.Count(page(m), "berth_agent_writes_total{"); got != maxResources+1 {
		t.Errorf("%d series, want %d", got, maxResources+1)
	}
}
