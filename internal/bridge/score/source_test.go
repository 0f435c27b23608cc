package score

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestASourceIsBounded shows what a hostile or broken server can do: nothing but fail its query.
func TestASourceIsBounded(t *testing.T) {
	endless := strings.Repeat("x", 1<<20)
	for sentence, test := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"an endless response": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(endless)); err != nil {
					return
				}
			}
		}, errResponseTooLarge.Error()},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, errRedirect.Error()},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "querying cpu"},
		"a scalar": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}`))
		}, errNoVector.Error()},
		"a long error": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = fmt.Fprintf(w, `{"status":"error","errorType":"execution","error":%q}`, strings.Repeat("long\x1b", 10_000))
		}, "querying cpu"},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := httptest.NewServer(test.serve)
			defer server.Close()
			s, err := newSource(Source{Name: "main", URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.query(t.Context(), &Query{
				Name: "cpu", Query: "up", ClusterLabel: "cluster",
				Interval: metav1.Duration{Duration: time.Minute},
			}, time.Now())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			if text := message(err); len(text) > maxMessage+8 || strings.ContainsRune(text, '\x1b') {
				t.Errorf("the message has %d bytes: %q", len(text), text)
			}
		})
	}
}

func TestAClusterWithSeveralValuesHasNone(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[
			{"metric":{"cluster":"a"},"value":[0,"1"]},{"metric":{"cluster":"b","pod":"x"},"value":[0,"2"]},
			{"metric":{"cluster":"b","pod":"y"},"value":[0,"3"]},{"metric":{},"value":[0,"4"]}]}}`))
	}))
	defer server.Close()
	s, err := newSource(Source{Name: "main", URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.query(t.Context(), &Query{
		Name: "cpu", Query: "up", ClusterLabel: "cluster",
		Interval: metav1.Duration{Duration: time.Minute},
	}, time.Now())
	if err != nil || len(got.values) != 1 || got.values["a"] != 1 || got.several != "b" || got.unnamed != 1 {
		t.Errorf("result %+v, error %v", got, err)
	}
}
