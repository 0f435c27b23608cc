package console

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/status"
)

// maxNames is how many names a list shows before it is cut.
const maxNames = 24

// functions are what templates call.
func functions() template.FuncMap {
	return template.FuncMap{
		"count":         count,
		"percent":       percent,
		"tone":          tone,
		"placementPath": placementPath,
		"clusterPath":   func(name string) string { return "/clusters/" + url.PathEscape(name) },
		"rolloutPath":   rolloutPath,
		"setPath":       setPath,
		"holdPath":      holdPath,
		"first":         first,
		"rest":          func(names []string) int { return max(0, len(names)-maxNames) },
		"join":          func(names []string) string { return strings.Join(names, ", ") },
		"either":        either,
		"known":         func(at any) bool { return !timeOf(at).IsZero() },
		"instant":       instant,
		"inc":           func(i int) int { return i + 1 },
		"dec":           func(i int) int { return i - 1 },
		"add":           sum,
		"pageLink":      pageLink,
		"span":          span,
		"write":         writeLink,
		"verdict":       verdictWord,
		"rate":          func(of float64) string { return strconv.FormatFloat(of, 'f', 1, 64) },
		"bytes":         bytesOf,
		"share":         func(part, whole float64) string { return strconv.FormatFloat(min(100, 100*part/whole), 'f', 1, 64) },
	}
}

// verdictWord returns a verdict on a hub in words.
func verdictWord(verdict string) string {
	return map[string]string{
		status.Well: "The hub is well", status.Attention: "Look at this", status.Failing: "The hub is not well", status.Unknown: "Not visible",
	}[verdict]
}

// bytesOf returns a number of bytes with its unit.
func bytesOf(of float64) string {
	const kilo = 1000
	units := []string{"B", "kB", "MB", "GB", "TB"}
	at := 0
	for ; of >= kilo && at < len(units)-1; at++ {
		of /= kilo
	}
	return strconv.FormatFloat(of, 'g', 3, 64) + " " + units[at]
}

// count returns a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// percent returns a share in percent, with one decimal.
func percent(part, whole int) string {
	if whole == 0 {
		return "0"
	}
	return fmt.Sprintf("%.1f", 100*float64(part)/float64(whole))
}

// either returns the first text that is not empty.
func either(in ...any) string {
	for _, each := range in {
		if text := fmt.Sprint(each); text != "" {
			return text
		}
	}
	return ""
}

func sum(in ...int) int {
	out := 0
	for _, each := range in {
		out += each
	}
	return out
}

// pageLink returns the query of another page of a list.
func pageLink(list any, at int) string {
	query := url.Values{"page": {strconv.Itoa(at)}}
	switch typed := list.(type) {
	case *fleetTable:
		query.Set("view", "table")
		query.Set("q", typed.Query)
	case placementList:
		query.Set("q", typed.Query)
	}
	return "?" + query.Encode()
}

func placementPath(key fleet.Key) string {
	return "/placements/" + url.PathEscape(key.Namespace) + "/" + url.PathEscape(key.Name)
}

func rolloutPath(key fleet.Key) string {
	return "/rollouts/" + url.PathEscape(key.Namespace) + "/" + url.PathEscape(key.Name)
}

func setPath(name string) string {
	return "/?" + url.Values{"group": {"set"}, "q": {"set=" + name}}.Encode()
}

// holdPath returns the page of the object whose change is held back.
func holdPath(of hold.Hold) string {
	key := fleet.Key{Namespace: of.Namespace, Name: of.Name}
	switch of.Kind {
	case "Placement":
		return placementPath(key)
	case "ManagedClusterSet", "ManagedClusterSetBinding": // a binding has the name of its set
		return setPath(of.Name)
	case "ManagedCluster":
		return "/clusters/" + url.PathEscape(of.Name)
	default:
		return rolloutPath(key)
	}
}

// first returns the names that a list shows.
func first(names []string) []string { return names[:min(len(names), maxNames)] }

// tone returns the colour of a word: good, warn, bad, info or none. Every place that has it shows the word too.
func tone(word any) string {
	switch fmt.Sprint(word) {
	case "True", "Selected", "healthy", "Succeeded", "Finished", "Done", "well", "ready", "leads", "on time":
		return "good"
	case "Held", "Kept", "Waiting", "Tainted", "Expired", "Capped", "unreachable", "Paused", "Unapproved", "joining", "Soaking", "attention",
		"pending", "warning", "late":
		return "warn"
	case "False", "Misconfigured", "Undecided", "TooCostly", "unhealthy", "Failing", "TimedOut", "Breached", "Failed", "Gone", "failing",
		"firing", "critical", "not ready", "no leader", "silent":
		return "bad"
	case "Beaten", "Progressing", "UnderWay", "Starting":
		return "info"
	default:
		return "none"
	}
}

// timeOf returns an instant of any of the types that pages show; zero without one.
func timeOf(at any) time.Time {
	switch typed := at.(type) {
	case time.Time:
		return typed
	case *time.Time:
		if typed != nil {
			return *typed
		}
	case metav1.Time:
		return typed.Time
	case *metav1.Time:
		if typed != nil {
			return typed.Time
		}
	}
	return time.Time{}
}

// instant returns a time element. A module turns it into an age.
func instant(at any) template.HTML {
	when := timeOf(at)
	if when.IsZero() {
		return "–"
	}
	when = when.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, when.Format(time.RFC3339), //nolint:gosec // it holds digits only
		when.Format("2006-01-02 15:04:05 UTC")))
}

// kubectl returns a command of the plugin with the flags of the session.
func (s *Session) kubectl(words ...string) string {
	out := append([]string{"kubectl", "berth"}, words...)
	if s.Flags != "" {
		out = append(out, s.Flags)
	}
	return strings.Join(out, " ")
}
