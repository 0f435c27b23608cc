package rule

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"
)

// State is how an alert is.
type State string

// The states of an alert.
const (
	// Quiet means that the condition does not hold.
	Quiet State = "quiet"
	// Pending means that the condition holds, for a shorter time than the alert waits.
	Pending State = "pending"
	// Firing means that the condition has held for as long as the alert waits.
	Firing State = "firing"
	// Elsewhere means that only Prometheus can evaluate the condition.
	Elsewhere State = "elsewhere"
)

// Alert is an alert with its state.
type Alert struct {
	Name     string `json:"name"`
	Severity string `json:"severity"`
	State    State  `json:"state"`
	// Since is when the condition began to hold; nil while it does not.
	Since *time.Time `json:"since,omitempty"`
	// For is how long the condition must hold.
	For string `json:"for,omitempty"`
	// Summary is what is wrong, in words; empty while the condition does not hold.
	Summary string `json:"summary,omitempty"`
	// Action is what to do about it.
	Action string `json:"action,omitempty"`
	// Runbook is the page with more.
	Runbook string `json:"runbook,omitempty"`
}

// Rule is an alerting rule of Prometheus.
type Rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`

	condition Condition
	wait      time.Duration
	summary   *template.Template
}

// errDiffers is wrapped by the errors about rules that are not evaluated here.
var errDiffers = errors.New("the manager evaluates another condition")

// Read reads a file of rules.
func Read(data []byte) ([]*Rule, error) {
	var file struct {
		Groups []struct {
			Rules []*Rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("reading the rules: %w", err)
	}
	var out []*Rule
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			if err := rule.compile(); err != nil {
				return nil, fmt.Errorf("reading the rule %s: %w", rule.Alert, err)
			}
			out = append(out, rule)
		}
	}
	return out, nil
}

func (r *Rule) compile() (err error) {
	var known bool
	if r.condition, known = conditions()[r.Alert]; !known || r.condition.expr != r.Expr {
		return fmt.Errorf("the expression is %q, and the condition in package rule has %q: %w", r.Expr, r.condition.expr, errDiffers)
	}
	if r.For != "" {
		if r.wait, err = time.ParseDuration(r.For); err != nil {
			return fmt.Errorf("reading the time of the rule: %w", err)
		}
	}
	text := "{{ $value := . }}" + r.Annotations["summary"]
	if r.summary, err = template.New(r.Alert).Funcs(template.FuncMap{
		"humanize":         func(of float64) string { return fmt.Sprintf("%.4g", of) },
		"humanizeDuration": func(of float64) string { return duration.HumanDuration(time.Duration(of * float64(time.Second))) },
	}).Parse(text); err != nil {
		return fmt.Errorf("reading the summary: %w", err)
	}
	return nil
}

// Metric returns the name of the metric that the rule reads; empty if only Prometheus evaluates it.
func (r *Rule) Metric() string { return r.condition.figure.metric }

// Evaluate returns the alert at the latest sample. Since is when its condition began to hold at the last evaluation; zero if it did not.
func (r *Rule) Evaluate(of *Window, since time.Time) Alert {
	out := Alert{
		Name: r.Alert, Severity: r.Labels["severity"], State: Quiet, For: r.For, Action: r.Annotations["description"],
		Runbook: r.Annotations["runbook_url"],
	}
	last, known := of.Last()
	if r.condition.elsewhere || !known {
		out.State = Elsewhere
		return out
	}
	found := r.condition.figure.evaluate(of)
	if len(found) == 0 || !r.condition.holds(found[0].Value) { // every figure of a condition is one number
		return out
	}
	if since.IsZero() {
		since = last.At
	}
	out.Since, out.State = &since, Pending
	if last.At.Sub(since) >= r.wait {
		out.State = Firing
	}
	var text strings.Builder
	if err := r.summary.Execute(&text, found[0].Value); err == nil {
		out.Summary = text.String()
	}
	return out
}
