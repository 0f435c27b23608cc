package console_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/console"
)

// TestRoutes reads every route with parameters that exist.
func TestRoutes(t *testing.T) {
	s := newSite(t, fileSession(demo(t)))
	values := strings.NewReplacer("{cluster}", "eu-1", "{namespace}", "data", "{placement}", "training", "{name}", "main.js", "{set}", "none")
	known := map[string]bool{}
	for _, route := range console.Routes() {
		name := route.Method + " " + route.Path
		if known[name] {
			t.Errorf("%s is there twice", name)
		}
		known[name] = true
		path := values.Replace(route.Path)
		switch name {
		// not without parameters, or not in these files
		case "GET /events", "GET /confirm", "GET /rollouts/{namespace}/{set}", "GET /data/column", "GET /data/moment":
			continue
		}
		var code int
		var body string
		if route.Method == http.MethodPost {
			code, body = s.post(t, path, "application/json", "{}")
		} else {
			code, body = s.get(t, path)
		}
		if want := map[bool]int{true: http.StatusOK, false: http.StatusBadRequest}[name != "POST /confirm"]; code != want {
			t.Errorf("%s: status %d, want %d: %s", name, code, want, body)
		}
	}
}

// TestOtherParametersAreNotRead sends parameters that a route does not take, and that others take.
func TestOtherParametersAreNotRead(t *testing.T) {
	s := newSite(t, fileSession(demo(t)))
	for path, other := range map[string]string{
		"/placements?q=shop":  "&stage=none&at=x&cluster=none",
		"/data/search?q=eu-1": "&key=none:x&page=9", "/clusters/eu-1": "?q=" + strings.Repeat("a", 300),
	} {
		code, want := s.get(t, path)
		otherCode, got := s.get(t, path+other)
		if code != http.StatusOK || otherCode != code || got != want {
			t.Errorf("%s%s: status %d, want the same as without the other parameters (%d):\n%s", path, other, otherCode, code, got)
		}
	}
	if _, body := s.post(t, "/data/preview", "application/json", `{"Remove":["none"],"text":"x","yaml":""}`); !strings.Contains(body,
		"Nothing moves") {
		t.Errorf("fields that the preview does not take change it: %s", body)
	}
	for _, route := range console.Routes() {
		if route.Path != "/data/preview" {
			continue
		}
		var fields []string
		for field := range reflect.TypeFor[console.Change]().Fields() {
			fields = append(fields, field.Tag.Get("json"))
		}
		if !slices.Equal(fields, route.Parameters) {
			t.Errorf("the preview takes %v, and a change has %v", route.Parameters, fields)
		}
	}
}
