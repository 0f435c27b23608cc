package gather

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// files returns the files of an archive.
func files(t *testing.T, content []byte) map[string]string {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for reader := tar.NewReader(compressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		out[header.Name] = string(text)
	}
}

func TestAnArchiveKeepsItsBound(t *testing.T) {
	var out bytes.Buffer
	a := newArchive(&out, time.Unix(0, 0), 10)
	if err := errors.Join(a.add("first", []byte("123456")), a.write("summary", []byte("written in any case"))); err != nil {
		t.Fatal(err)
	}
	if err := a.add("second", []byte("12345")); !errors.Is(err, errFull) {
		t.Errorf("beyond the bound: %v", err)
	}
	if err := errors.Join(a.add("third", []byte("1234")), a.close()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"berth-gather/first": "123456", "berth-gather/summary": "written in any case", "berth-gather/third": "1234"}
	if diff := cmp.Diff(want, files(t, out.Bytes())); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestObjectsBeyondTheBoundAreReported(t *testing.T) {
	var out bytes.Buffer
	c := &collector{Options: Options{MaxObjects: 2, MaxBytes: 1000}, archive: newArchive(&out, time.Unix(0, 0), 1000)}
	part := Part{Name: "placements"}
	for _, name := range []string{"a", "b", "c"} {
		if err := c.object(kinds()[3], parse(t, "{kind: Placement, metadata: {namespace: shop, name: "+name+"}}"), &part); err != nil {
			t.Fatal(err)
		}
	}
	if want := (Part{Name: "placements", Objects: 2, Problem: "only the first 2 objects were collected"}); part != want {
		t.Errorf("part is %+v, want %+v", part, want)
	}
}

func TestOnlyEventsOfBerthAreKept(t *testing.T) {
	tests := map[string]struct {
		event string
		want  bool
	}{
		"about a placement": {
			`{metadata: {namespace: shop}, regarding: {apiVersion: cluster.open-cluster-management.io/v1beta1}}`,
			true,
		},
		"about the manager's pod":    {`{metadata: {namespace: berth-system}, regarding: {apiVersion: v1}}`, true},
		"about a pod of a workload":  {`{metadata: {namespace: shop}, regarding: {apiVersion: v1}}`, false},
		"about an unknown object":    {`{metadata: {namespace: shop}}`, false},
		"with a wrong kind of value": {`{metadata: {namespace: shop}, regarding: 1}`, false},
	}
	for name, test := range tests {
		if got := isAboutBerth(parse(t, test.event)); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestAnExpiredListGoesOn(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old")
	expired.ErrStatus.Continue = "next"
	if got := nextAfterExpiry(expired); got != "next" {
		t.Errorf("after an expired list: %q", got)
	}
	if got := nextAfterExpiry(apierrors.NewNotFound(kinds()[0].resource.GroupResource(), "")); got != "" {
		t.Errorf("after another error: %q", got)
	}
}

func TestNoKindReadsSecrets(t *testing.T) {
	for _, k := range kinds() {
		if k.resource.Resource == "secrets" {
			t.Error("Secrets are read")
		}
		if k.page == 0 {
			t.Errorf("%s is read without pages", k.resource)
		}
	}
	if isOwn(&unstructured.Unstructured{}) {
		t.Error("an object without a name is Berth's")
	}
}
