package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/delivery/plan/plantest"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/status"
	"github.com/berth-project/berth/internal/status/rule"
)

// rollout is the set shop/web as its planner sees it. It implements console.Deliveries and console.Members.
type rollout struct{ *plantest.State }

// Delivery implements console.Deliveries.
func (r rollout) Delivery(_ context.Context, set fleet.Key) (*report.Report, error) {
	if set.String() != "shop/web" {
		return nil, console.ErrNotFound
	}
	out := report.New(r.Input())
	return &out, nil
}

// Past implements console.Deliveries.
func (r rollout) Past(context.Context, fleet.Key) (*model.Past, error) {
	return &model.Past{Problem: "No events can be read."}, nil
}

// Member implements console.Members.
func (r rollout) Member(_ context.Context, cluster string) (*console.Member, error) {
	return &console.Member{LeaseProblem: "No lease can be read.", Works: []console.Work{console.NewWork(r.Works[cluster], r.Now)}}, nil
}

// rollingOut is a session with a rollout: eu-1, the canary, has the template, and the member eu-2 refuses it.
func rollingOut(t *testing.T) console.Session {
	t.Helper()
	w := plantest.New(t, now.Add(-time.Hour), "type: ProgressivePerGroup", plantest.Group{Name: "canary", Clusters: []string{"eu-1"}},
		plantest.Group{Name: "rest", Clusters: []string{"eu-2", "eu-3"}})
	w.Step()
	w.Wait(10 * time.Second)
	w.Succeed("eu-1")
	w.Step()
	w.Wait(20 * time.Second)
	w.Refuse("eu-2", `no such image <img src=x onerror=alert(1)>`)
	w.Step()
	bundle := demo(t)
	bundle.WorkSets = append(bundle.WorkSets, w.Set)
	bundle.Decisions[fleet.Key{Namespace: "shop", Name: "fleet"}] = w.Slices
	session := fileSession(bundle)
	session.Deliveries, session.Members = rollout{w}, rollout{w}
	return session
}

// momentOf is the answer about a moment.
type momentOf struct {
	HTML string `json:"html"`
	Last int    `json:"last"`
	Step int    `json:"step"`
	At   string `json:"at"`
	Text string `json:"text"`
}

// TestRollout shows a rollout, and goes back through its timeline.
func TestRollout(t *testing.T) {
	session := rollingOut(t)
	session.Writer = &recordingWriter{}
	s := newSite(t, session)
	code, body := s.get(t, "/rollouts/shop/web")
	for _, want := range []string{
		"What fails", "Deployment shop/web", "no such image &lt;img", "0 (canary)", "1 (rest)", `type="range"`,
		"No events can be read.", "/confirm?action=pause", "Pause…",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("status %d, the page lacks %q", code, want)
		}
	}
	checkMarkup(t, "/rollouts/shop/web", body)
	read := func(query string) momentOf {
		t.Helper()
		code, body := s.get(t, "/data/moment?"+url.Values{"set": {"shop/web"}}.Encode()+query)
		var out momentOf
		if err := json.Unmarshal([]byte(body), &out); err != nil || code != http.StatusOK {
			t.Fatalf("%s: status %d, %v: %s", query, code, err, body)
		}
		return out
	}
	first := read("&step=0")
	if first.Text != "eu-1 starts" || !strings.Contains(first.HTML, "1 under way") || !strings.Contains(first.HTML, "2 waiting") ||
		first.At == "" {
		t.Errorf("the first moment: %+v", first)
	}
	last := read("")
	if last.Text != "now" || last.Step != last.Last || last.At != "" || !strings.Contains(last.HTML, "The waves above are those of now") {
		t.Errorf("the present: %+v", last)
	}
	if again := read("&at=" + url.QueryEscape(first.At)); again.Step != 0 {
		t.Errorf("the address of the first moment leads to %d", again.Step)
	}
	if _, body := s.get(t, "/rollouts/shop/web?at="+url.QueryEscape(first.At)); !strings.Contains(body, `aria-valuetext="eu-1 starts"`) {
		t.Error("the page does not show the moment of its address")
	}
	for path, want := range map[string]int{
		"/data/moment?set=shop/none": 404, "/data/moment?set=shop/web&step=x": 400, "/data/moment?set=shop/web&step=-1": 400,
		"/data/moment?set=shop/web&at=yesterday": 400, "/rollouts/shop/web?at=x": 400,
	} {
		if code, _ := s.get(t, path); code != want {
			t.Errorf("%s: status %d, want %d", path, code, want)
		}
	}
}

// TestClusterWorks shows who put what on a cluster.
func TestClusterWorks(t *testing.T) {
	s := newSite(t, rollingOut(t))
	code, body := s.get(t, "/clusters/eu-2")
	for _, want := range []string{
		"Who put what on it", `href="/rollouts/shop/web"`, `href="/placements/shop/fleet"`, "Failed",
		"no such image &lt;img", "Deployment shop/web", "No lease can be read.",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("status %d, the page lacks %q", code, want)
		}
	}
	checkMarkup(t, "/clusters/eu-2", body)
}

// members is a cluster with a lease and hidden works.
type members struct{ renewed time.Time }

func (m members) Member(context.Context, string) (*console.Member, error) {
	return &console.Member{Renewed: m.renewed, WorksProblem: "You may not list the works."}, nil
}

// TestLease has a lease on time, a late one and a silent agent. A user who may not list the works sees the deliveries of its sets.
func TestLease(t *testing.T) {
	session := rollingOut(t)
	for want, ago := range map[string]time.Duration{"on time": 30 * time.Second, "late": 150 * time.Second, "silent": 10 * time.Minute} {
		session.Members = members{time.Now().Add(-ago)}
		_, body := newSite(t, session).get(t, "/clusters/eu-2")
		if !strings.Contains(body, ">"+want+"</span> renewed") {
			t.Errorf("a lease of %s ago is not shown as %s", ago, want)
		}
		if !strings.Contains(body, "These sets deliver to the cluster") || !strings.Contains(body, "no such image &lt;img") {
			t.Error("the deliveries of the sets are missing")
		}
	}
}

// hubs is a hub as its reader sees it.
type hubs struct {
	hub    *status.Hub
	err    error
	graces []hold.Hold
}

func (h hubs) Hub(context.Context) (*status.Hub, error) { return h.hub, h.err }

func (h hubs) Graces(context.Context) []hold.Hold { return h.graces }

// TestHubPage shows a hub that is well, one with problems, and a hidden one.
func TestHubPage(t *testing.T) {
	at := time.Now()
	since := at.Add(-time.Hour)
	lease := &status.Lease{
		Holder: "berth-1_x", Version: "v1", Acquired: at.Add(-time.Hour), Renewed: at, Duration: 6 * time.Second,
		Transitions: 3,
	}
	alerts := []rule.Alert{
		{
			Name: "BerthHealthSuspended", Severity: "critical", State: rule.Firing, Since: &since, Summary: "Silent <b>clusters</b>.",
			Action: "Look at the hub.",
		},
		{Name: "BerthManagerDown", State: rule.Elsewhere},
		{Name: "BerthHubLacks", State: rule.Quiet},
	}
	figures := &status.Report{
		At: at, Leads: true, Queues: []status.Queue{{Name: "placement", Waiting: 7}, {Name: "idle"}}, Alerts: alerts,
		Decisions: status.Decisions{Over: 300, Count: 4, P50: 0.012, P99: 2.5, Evaluations: 9},
		Writes:    status.Writes{PerSecond: 12, Limit: 1000, Stored: 40, Failed: 2, Bytes: 3e6, BytesLimit: 200e6},
	}
	for name, tc := range map[string]struct {
		hub       hubs
		want, not []string
	}{
		"well": {
			hubs{hub: &status.Hub{
				Lease: lease, Replicas: []status.Replica{{Name: "berth-1", Ready: true}},
				ManagerProblem: "You may not read the figures.",
			}},
			[]string{"The hub is well", "verdict-well", "berth-1_x", ">leads</span>", "You may not read the figures."},
			[]string{"not well", "Alerts</h2>"},
		},
		"a critical alert": {
			hubs{hub: &status.Hub{Lease: lease, Manager: figures, ReplicasProblem: "kubectl get pods"}},
			[]string{
				"The hub is not well", "Silent &lt;b&gt;clusters", "Look at the hub.", "half within 12ms, 99 of 100 within 2.5s", "12.0",
				"of 1000.0 requests", "2 failed", "3 MB", "placement", "BerthManagerDown is evaluated by Prometheus alone", "1 shipped alert quiet",
			},
			[]string{"<b>clusters"},
		},
		"no leader": {
			hubs{hub: &status.Hub{Lease: &status.Lease{Holder: "gone", Renewed: at.Add(-time.Hour), Duration: time.Second}}},
			[]string{"The hub is not well", "No manager leads", "kubectl get pods,lease -n berth-system"},
			nil,
		},
		"a grace": {
			hubs{hub: &status.Hub{Lease: lease}, graces: []hold.Hold{{
				Type: hold.Grace, Kind: "ManagedCluster", Name: "edge-1", Cause: "it lost a label", Since: new(metav1.NewTime(since)),
				End: "kubectl berth holds release",
			}}},
			[]string{"Held back", "ManagedCluster/edge-1", "it lost a label", "kubectl berth holds release", `href="/clusters/edge-1"`},
			nil,
		},
		"hidden": {
			hubs{err: status.ErrNotPermitted},
			[]string{"Not visible", "system:monitoring"},
			[]string{"Leader</h2>", "Alerts</h2>", "Queues"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			session := fileSession(demo(t))
			session.Hub = tc.hub
			code, body := newSite(t, session).get(t, "/hub")
			for _, want := range tc.want {
				if !strings.Contains(body, want) {
					t.Errorf("status %d, the page lacks %q:\n%s", code, want, body)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(body, not) {
					t.Errorf("the page has %q", not)
				}
			}
			checkMarkup(t, "/hub", body)
		})
	}
}

// TestCompletion completes a text, and finds the lines of its faults.
func TestCompletion(t *testing.T) {
	s := newSite(t, fileSession(demo(t)))
	const text = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata:\n  name: " +
		"p\nspec:\n  clusterSets:\n  - g\n"
	body, err := json.Marshal(map[string]any{"text": text, "row": 6, "column": 5})
	if err != nil {
		t.Fatal(err)
	}
	if code, answer := s.post(t, "/data/completion", "application/json", string(body)); code != http.StatusOK ||
		!strings.Contains(answer, `"text":"gpu"`) {
		t.Errorf("status %d, want the set gpu: %s", code, answer)
	}
	wrong := "# a comment\n" + strings.Replace(text, "clusterSets:\n  - g\n", "numberOfClusters: -1\n  clusterz: 3\n", 1) + "---\nkind: [\n"
	sent, err := json.Marshal(console.Change{YAML: wrong})
	if err != nil {
		t.Fatal(err)
	}
	_, answer := s.post(t, "/data/preview", "application/json", string(sent))
	var found struct {
		Faults []console.Fault `json:"faults"`
	}
	if err := json.Unmarshal([]byte(answer), &found); err != nil {
		t.Fatal(err)
	}
	lines := map[int]string{}
	for _, fault := range found.Faults {
		lines[fault.Line] += fault.Text
	}
	if !strings.Contains(lines[8], "clusterz") || len(lines) < 2 {
		t.Errorf("the faults are %v, want the unknown field at line 8 and the broken text", lines)
	}
}

// TestHoldsAreShown: the page of the hub lists what is held back, with the command that ends it.
func TestHoldsAreShown(t *testing.T) {
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	set.Status.Conditions = []metav1.Condition{{
		Type: workv1alpha1.Progressing, Status: metav1.ConditionFalse, Reason: "Breached", Message: "2 <b>clusters</b> failed",
		LastTransitionTime: metav1.NewTime(now),
	}}
	set.Status.Rollout = &clusterv1alpha1.RolloutRecord{
		Holds: []clusterv1alpha1.RolloutHold{{Type: clusterv1alpha1.HoldBreach, Placement: "fleet", Since: metav1.NewTime(now)}},
	}
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "fleet"}}
	bundle := demo(t)
	bundle.WorkSets = append(bundle.WorkSets, set)
	clusterSet := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "live"}}
	clusterSet.Status.Conditions = []metav1.Condition{{
		Type: clusterv1beta2.ManagedClusterSetConditionSelectorHeld, Status: metav1.ConditionTrue, Reason: clusterv1beta2.ReasonSelectsNothing,
	}}
	bundle.Sets = append(bundle.Sets, clusterSet)
	code, body := newSite(t, fileSession(bundle)).get(t, "/hub")
	for _, want := range []string{
		"Held back", "/rollouts/shop/web", "2 &lt;b&gt;clusters",
		"kubectl berth holds release manifestworkreplicaset/web -n shop --reason WHY",
		`<a href="/?group=set&amp;q=set%3Dlive">ManagedClusterSet/live</a>`,
		"kubectl berth holds release managedclusterset/live --hold Selector --reason WHY",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("status %d, the page lacks %q:\n%s", code, want, body)
		}
	}
	checkMarkup(t, "/hub", body)
	if _, body := newSite(t, fileSession(demo(t))).get(t, "/hub"); strings.Contains(body, "Held back") {
		t.Error("the page has a box for holds where there are none")
	}
}
