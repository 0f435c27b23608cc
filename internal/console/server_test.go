package console_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/web"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/source/file"
)

var errBoom = errors.New("boom")

// now is the instant of every test.
var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func demo(t *testing.T) *file.Bundle {
	t.Helper()
	return load(t, filepath.Join("..", "..", "examples", "demo"))
}

func load(t *testing.T, name string) *file.Bundle {
	t.Helper()
	bundle, err := file.Loader{Validation: file.Ignore}.Load(t.Context(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// site is a console without a guard.
type site struct {
	*httptest.Server

	session console.Session
}

func newSite(t *testing.T, session console.Session) *site {
	t.Helper()
	s := &site{session: session}
	server, err := console.New(console.Options{
		Session: func(*http.Request) (console.Session, error) { return s.session, nil },
		Clock:   clock.RealClock{},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(server)
	t.Cleanup(s.Close)
	return s
}

func fileSession(bundle *file.Bundle) console.Session {
	read := web.NewFiles(bundle, now)
	return console.Session{User: "ann", Reader: read, Deliveries: read, Members: read, Previewer: read, Place: "files"}
}

// get returns the status and the body of a path.
func (s *site) get(t *testing.T, path string) (code int, body string) {
	t.Helper()
	response, err := s.Client().Get(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

func (s *site) post(t *testing.T, path, kind, body string) (code int, answer string) {
	t.Helper()
	response, err := s.Client().Post(s.URL+path, kind, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

func TestPages(t *testing.T) {
	s := newSite(t, fileSession(demo(t)))
	for path, wants := range map[string][]string{
		"/": {
			"<h1>Fleet</h1>", "12</dd>",
			`<a href="/?view=table&amp;q=unreachable" aria-label="1 unreachable">1</a>`, `id="grid"`, `value="label:`, "kubectl berth get clusters",
		},
		"/?view=table":               {"eu-1</a>", "12 in all"},
		"/?view=table&q=eu":          {"eu-1</a>", "4 in all"},
		"/?view=table&q=set=gpu":     {"eu-2</a>", "4 in all"},
		"/?view=table&q=unreachable": {"ap-4</a>", "1 in all"},
		"/clusters/eu-1":             {"<h1>eu-1</h1>", "shop/orders", "Labels", "kubectl berth describe cluster eu-1"},
		"/placements":                {"data/training", "shop/orders", "6 in all"},
		"/placements?q=shop":         {"shop/orders", "in all"},
		"/placements/data/training": {
			"Beaten", "OutsideSets", "Predicates", "eu-2", "Scores",
			"kubectl berth explain placement training -n data",
		},
		"/placements/data/training?stage=sets":   {"Rejected there", "ap-1</a>"},
		"/placements/data/training?cluster=eu-3": {"It is selected with", "<li>"},
		"/search?q=eu-1":                         {`href="/clusters/eu-1"`},
		"/preview":                               {`id="yaml"`},
		"/hub":                                   {"Read from"},
	} {
		code, body := s.get(t, path)
		if code != http.StatusOK {
			t.Errorf("%s: status %d, want 200\n%s", path, code, body)
		}
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the page lacks %q", path, want)
			}
		}
		checkMarkup(t, path, body)
	}
}

// checkMarkup checks that a page needs nothing that its policy forbids, and that its elements are closed.
func checkMarkup(t *testing.T, path, body string) {
	t.Helper()
	for name, forbidden := range map[string]string{
		"an inline style": `<[^>]* style=`, "a handler": `<[^>]* on[a-z]+=`, "an inline script": `<script(?: type=""| src="")*>[^<]`,
		"a foreign address":                  `(?:src|href)="(?:https?:)?//`,
		"a value that html/template refused": "ZgotmplZ",
	} {
		text := body
		if name != "a foreign address" { // what stands in quotes is a value, and no attribute
			text = regexp.MustCompile(`"[^"]*"`).ReplaceAllString(body, `""`)
		}
		if found := regexp.MustCompile(forbidden).FindString(text); found != "" {
			t.Errorf("%s has %s: %s", path, name, found)
		}
	}
	for _, element := range []string{"section", "div", "table", "tbody", "tr", "ul", "ol", "dl", "form", "main", "a", "button", "select"} {
		opened, closed := len(regexp.MustCompile("<"+element+"[ >]").FindAllString(body, -1)), strings.Count(body, "</"+element+">")
		if opened != closed {
			t.Errorf("%s opens %d times %s and closes %d", path, opened, element, closed)
		}
	}
}

func TestUnknownAddresses(t *testing.T) {
	s := newSite(t, fileSession(demo(t)))
	for path, want := range map[string]int{
		"/clusters/none": 404, "/placements/data/none": 404, "/nothing": 404, "/clusters": 404, "/assets/none.js": 404,
		"/assets/..%2fserver.go":               404,
		"/placements/data/training?stage=none": 400, "/data/column?key=none:x": 400, "/confirm?action=accept&cluster=eu-1": 400,
		"/rollouts/a/b": 404,
		"/?view=table&q=" + strings.Repeat("a", 300): 400, "/?" + strings.Repeat("a", 5000): 414, "/events?page=https://attacker.example/": 400,
	} {
		if code, _ := s.get(t, path); code != want {
			t.Errorf("%.60s: status %d, want %d", path, code, want)
		}
	}
}

// TestTextIsEscaped shows objects whose texts are markup.
func TestTextIsEscaped(t *testing.T) {
	const attack = `<script>alert(1)</script><img src=x onerror=alert(2)>"'` + "\u202e\x1b"
	bundle := demo(t)
	for _, cluster := range bundle.Clusters {
		cluster.Labels["note"] = attack
		cluster.Status.Version.Kubernetes = attack
		cluster.Status.ClusterClaims = append(cluster.Status.ClusterClaims, clusterv1.ManagedClusterClaim{Name: attack, Value: attack})
		cluster.Spec.Taints = append(cluster.Spec.Taints, clusterv1.Taint{
			Key: attack, Value: attack,
			Effect: clusterv1.TaintEffectPreferNoSelect,
		})
		for i := range cluster.Status.Conditions {
			cluster.Status.Conditions[i].Message, cluster.Status.Conditions[i].Reason = attack, attack
		}
	}
	for _, placement := range bundle.Placements {
		for i := range placement.Status.Conditions {
			placement.Status.Conditions[i].Message, placement.Status.Conditions[i].Reason = attack, attack
		}
	}
	session := fileSession(bundle)
	session.Place, session.Flags = attack, attack
	s := newSite(t, session)
	query := url.QueryEscape(attack)
	for _, path := range []string{
		"/", "/?view=table&q=" + query, "/clusters/eu-1", "/placements", "/placements?q=" + query, "/placements/data/training",
		"/placements/shop/orders?cluster=" + query,
		"/placements/shop/orders?stage=" + query, "/search?q=" + query, "/hub", "/preview", "/confirm?action=" + query,
		"/" + url.PathEscape(attack),
	} {
		_, body := s.get(t, path)
		for _, bad := range []string{"<script>alert", "<img src=x", "\u202e", "\x1b"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s: the page has %q as it is", path, bad)
			}
		}
		checkMarkup(t, path, body)
	}
}

func TestErrorsAreShown(t *testing.T) {
	session := fileSession(demo(t))
	session.Reader = brokenReader{session.Reader}
	s := newSite(t, session)
	code, body := s.get(t, "/placements/data/training")
	if code != http.StatusOK || !strings.Contains(body, errBoom.Error()) || !strings.Contains(body, "Groups and slices") {
		t.Errorf("status %d, want a page with the error and the stored decisions:\n%s", code, body)
	}
}

// brokenReader fails to explain.
type brokenReader struct{ console.Reader }

func (brokenReader) Explain(context.Context, fleet.Key, string) (*explain.Explanation, error) {
	return nil, errBoom
}

// TestWeight bounds what a browser loads.
func TestWeight(t *testing.T) {
	s := newSite(t, fileSession(demo(t)))
	const kilo = 1000
	first, all := 0, 0
	for _, path := range []string{
		"/", "/assets/app.css", "/assets/main.js", "/assets/fleet.js", "/assets/icon.svg", "/data/grid",
		"/data/column?key=set",
	} {
		first += s.zipped(t, path)
	}
	entries, err := os.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		all += s.zipped(t, "/assets/"+entry.Name())
	}
	for _, path := range []string{"/", "/clusters/eu-1", "/placements", "/placements/data/training", "/preview", "/rollouts", "/hub"} {
		all += s.zipped(t, path)
	}
	t.Logf("the first page has %d bytes, all pages have %d, compressed", first, all)
	if first > 150*kilo || all > 400*kilo {
		t.Errorf("the first page has %d bytes and all pages have %d, want at most 150,000 and 400,000", first, all)
	}
}

// zipped returns the size of what a path sends, compressed.
func (s *site) zipped(t *testing.T, path string) int {
	t.Helper()
	_, body := s.get(t, path)
	var out strings.Builder
	zip := gzip.NewWriter(&out)
	if _, err := io.WriteString(zip, body); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}

// switchingReader is a fleet that changes.
type switchingReader struct {
	mu      sync.Mutex
	reader  console.Reader
	version uint64
	changed chan struct{}
}

func newSwitchingReader(reader console.Reader) *switchingReader {
	return &switchingReader{reader: reader, version: 1, changed: make(chan struct{})}
}

func (r *switchingReader) current() console.Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reader
}

func (r *switchingReader) change(to console.Reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reader, r.version = to, r.version+1
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *switchingReader) State(ctx context.Context) (*model.State, error) {
	state, err := r.current().State(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return model.NewState(state.Bundle, r.version, state.At, ""), nil
}

func (r *switchingReader) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

func (r *switchingReader) Explain(ctx context.Context, key fleet.Key, cluster string) (*explain.Explanation, error) {
	return r.current().Explain(ctx, key, cluster)
}

func (r *switchingReader) Verdict(ctx context.Context, key fleet.Key, cluster string) (*explain.Cluster, error) {
	return r.current().Verdict(ctx, key, cluster)
}

func (r *switchingReader) History(ctx context.Context, key fleet.Key) (*explain.History, error) {
	return r.current().History(ctx, key)
}

// event is what a stream sends.
type event struct{ name, id, data string }

// openStream opens the stream of a page.
func (s *site) openStream(t *testing.T, page, since string) (code int, next func() event) {
	t.Helper()
	address := s.URL + "/events?" + url.Values{"page": {page}, "since": {since}}.Encode()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return response.StatusCode, func() event {
		t.Helper()
		var out event
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "event":
				out.name = value
			case "id":
				out.id = value
			case "data":
				out.data = value
			case "":
				return out
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return out
	}
}

// TestChangesArrive taints a cluster while pages are open.
func TestChangesArrive(t *testing.T) {
	session := fileSession(demo(t))
	reader := newSwitchingReader(session.Reader)
	session.Reader = reader
	s := newSite(t, session)
	_, list := s.openStream(t, "/placements/shop/orders", "1")
	_, grid := s.openStream(t, "/", "1")
	for name, next := range map[string]func() event{"placement": list, "fleet": grid} {
		if got := next(); got.name != "version" || got.id != "1" {
			t.Errorf("%s: the first event is %+v, want version 1 alone, since the browser has it", name, got)
		}
	}
	tainted := demo(t)
	for _, cluster := range tainted.Clusters {
		if cluster.Name == "eu-1" {
			cluster.Spec.Taints = append(cluster.Spec.Taints, clusterv1.Taint{Key: "broken", Effect: clusterv1.TaintEffectNoSelect})
		}
	}
	reader.change(web.NewFiles(tainted, now))
	seen := map[string]string{}
	for got := list(); got.name != "version"; got = list() {
		var part struct {
			ID   string `json:"id"`
			HTML string `json:"html"`
		}
		if err := json.Unmarshal([]byte(got.data), &part); err != nil || got.name != "section" || got.id != "2" {
			t.Fatalf("got %+v (%v), want a section of version 2", got, err)
		}
		seen[part.ID] = part.HTML
	}
	if !strings.Contains(seen["placement-verdicts"], "taint broken:NoSelect") {
		t.Errorf("the verdicts are %q, want the taint among them", seen["placement-verdicts"])
	}
	if _, sent := seen["placement-history"]; sent {
		t.Error("the history was sent, although it did not change")
	}
	for got := grid(); ; got = grid() {
		if got.name != "cells" {
			continue
		}
		if !strings.Contains(got.data, `"tainted":"1"`) || !strings.Contains(got.data, `"reset":false`) {
			t.Errorf("the cells are %s, want those that changed", got.data)
		}
		break
	}
}

// TestStreamCatchesUp opens the stream of a page that is old.
func TestStreamCatchesUp(t *testing.T) {
	s := newSite(t, fileSession(demo(t)))
	_, next := s.openStream(t, "/", "0")
	if got := next(); got.name != "section" {
		t.Errorf("the first event is %+v, want the sections that the browser lacks", got)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	s := newSite(t, fileSession(demo(t)))
	for i := range 16 {
		code, next := s.openStream(t, "/hub", "1")
		if code != http.StatusOK {
			t.Fatalf("stream %d: status %d, want 200", i, code)
		}
		next()
	}
	if code, _ := s.openStream(t, "/hub", "1"); code != http.StatusTooManyRequests {
		t.Errorf("one stream more: status %d, want 429", code)
	}
	s.session.User = "bob"
	if code, _ := s.openStream(t, "/hub", "1"); code != http.StatusOK {
		t.Errorf("a stream of another user: status %d, want 200", code)
	}
}

func TestPreview(t *testing.T) {
	s := newSite(t, fileSession(demo(t)))
	for name, tc := range map[string]struct {
		change console.Change
		want   string
	}{
		"a cordoned cluster moves nothing": {console.Change{Cordon: []string{"eu-1"}}, "Nothing moves"},
		"a deleted cluster is lost":        {console.Change{Remove: []string{"eu-1"}}, "there is no such cluster"},
		"a region fails":                   {console.Change{Drain: []string{"region=eu"}}, "taint drained:NoSelect"},
		"an unknown cluster":               {console.Change{Remove: []string{"none"}}, "there is no such cluster"},
		"a broken selector":                {console.Change{Drain: []string{"a==b=="}}, "is no label selector"},
		"text that is no object":           {console.Change{YAML: "hello"}, "problem"},
		"a field that does not exist": {console.Change{YAML: "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: " +
			"Placement\nmetadata: {name: p, namespace: shop}\nspec: {clusterz: 3}\n"}, "clusterz"},
		"a placement that selects from the set": {console.Change{YAML: "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: " +
			"Placement\nmetadata: {name: more, namespace: shop}\nspec: {numberOfClusters: 1}\n"}, "shop/more"},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := json.Marshal(tc.change)
			if err != nil {
				t.Fatal(err)
			}
			code, answer := s.post(t, "/data/preview", "application/json", string(body))
			if code != http.StatusOK || !strings.Contains(answer, tc.want) {
				t.Errorf("status %d, want %q in:\n%s", code, tc.want, answer)
			}
		})
	}
	if code, _ := s.post(t, "/data/preview", "application/json", "{"); code != http.StatusBadRequest {
		t.Errorf("half a request: status %d, want 400", code)
	}
}

// recordingWriter records the writes, and fails if it should.
type recordingWriter struct {
	writes []string
	err    error
}

func (w *recordingWriter) Accept(_ context.Context, cluster string, accepted bool) (string, error) {
	w.writes = append(w.writes, fmt.Sprint("accept ", cluster, " ", accepted))
	return "The cluster is changed.", w.err
}

func (w *recordingWriter) Roll(_ context.Context, change console.RolloutChange) (string, error) {
	w.writes = append(w.writes, fmt.Sprintf("%s %s %s %s", change.Action, change.Set, change.Placement, change.Group))
	return "The rollout is changed.", w.err
}

func TestWritesAreConfirmed(t *testing.T) {
	writer := &recordingWriter{}
	session := fileSession(demo(t))
	session.Writer = writer
	s := newSite(t, session)
	code, body := s.get(t, "/confirm?action=deny&cluster=eu-1")
	if code != http.StatusOK || !strings.Contains(body, "Deny the cluster eu-1?") || !strings.Contains(body, "kubectl berth deny eu-1") {
		t.Errorf("status %d, want a page that names the cluster and the command:\n%s", code, body)
	}
	if len(writer.writes) != 0 {
		t.Fatalf("the page itself wrote %v", writer.writes)
	}
	const form = "application/x-www-form-urlencoded"
	for _, sent := range []string{
		"action=deny&cluster=eu-1", "action=accept&cluster=eu-1", "action=pause&namespace=a&set=b&placement=p",
		"action=approve&namespace=a&set=b&group=g",
	} {
		if code, body := s.post(t, "/confirm", form, sent); code != http.StatusOK || !strings.Contains(body, "is changed.") {
			t.Errorf("%s: status %d, want the outcome:\n%s", sent, code, body)
		}
	}
	want := "[accept eu-1 false accept eu-1 true pause a/b p  approve a/b  g]"
	if got := fmt.Sprint(writer.writes); got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
	for _, sent := range []string{"", "action=delete&cluster=eu-1", "action=deny", "action=pause&set=b", "action=approve&namespace=a&set=b"} {
		if code, _ := s.post(t, "/confirm", form, sent); code != http.StatusBadRequest {
			t.Errorf("%q: status %d, want 400", sent, code)
		}
	}
	writer.err = errBoom
	if code, body := s.post(t, "/confirm", form, "action=deny&cluster=eu-1"); code != http.StatusConflict ||
		!strings.Contains(body, errBoom.Error()) {
		t.Errorf("a write that fails: status %d, want 409 with the reason:\n%s", code, body)
	}
}

func TestFilesCannotBeWritten(t *testing.T) {
	s := newSite(t, fileSession(demo(t)))
	if code, _ := s.post(t, "/confirm", "application/x-www-form-urlencoded", "action=deny&cluster=eu-1"); code != http.StatusBadRequest {
		t.Errorf("status %d, want 400", code)
	}
	if _, body := s.get(t, "/clusters/eu-1"); strings.Contains(body, "/confirm?") {
		t.Error("the page offers a write")
	}
}
