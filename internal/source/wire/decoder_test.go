package wire

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/generate"
)

// reading returns a decoder of a watch of clusters that says this.
func reading(text string) *decoder {
	return newDecoder(io.NopCloser(strings.NewReader(text)), clusterv1.SchemeGroupVersion.WithKind("ManagedCluster"), &clusterv1.ManagedCluster{})
}

// written returns an object as an API server writes it, with who wrote it.
func written(t testing.TB, cluster *clusterv1.ManagedCluster) string {
	t.Helper()
	cluster = cluster.DeepCopy()
	cluster.APIVersion, cluster.Kind = clusterv1.SchemeGroupVersion.String(), "ManagedCluster"
	cluster.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "agent", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: time.Unix(1_700_000_000, 0)},
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"Joined\"}":{".":{},"f:message":{}}}}}`),
	}}
	text, err := json.Marshal(cluster)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// usually returns the decoder that every client has by default.
func usually(t testing.TB, text string) watch.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	codecs := serializer.WithoutConversionCodecFactory{CodecFactory: serializer.NewCodecFactory(scheme)}
	read, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		t.Fatal("no serializer for JSON")
	}
	frames := read.StreamSerializer.NewFrameReader(io.NopCloser(strings.NewReader(text)))
	return restwatch.NewDecoder(streaming.NewDecoder(frames, read.StreamSerializer), codecs.DecoderToVersion(read.Serializer, nil))
}

func says(what, object string) string { return `{"type":"` + what + `","object":` + object + "}\n" }

func TestEventsAreReadAsByEveryClient(t *testing.T) {
	f := generate.New(generate.Shape{Clusters: 50, Placements: 1, Seed: 3})
	f.Clusters[7].Annotations = map[string]string{"note": strings.Repeat("\n\"", usual)}
	var text strings.Builder
	for _, cluster := range f.Clusters {
		text.WriteString(says("MODIFIED", written(t, cluster)))
	}
	text.WriteString(says("BOOKMARK", `{"apiVersion":"cluster.open-cluster-management.io/v1","kind":"ManagedCluster","metadata":{"resourceVersion":"9"}}`))
	text.WriteString(says("ERROR", `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Expired","code":410}`))
	got, want := reading(text.String()), usually(t, text.String())
	for range len(f.Clusters) + 2 {
		gotType, gotObject, err := got.Decode()
		wantType, wantObject, wantErr := want.Decode()
		if err != nil || wantErr != nil || gotType != wantType {
			t.Fatalf("got %s and error %v, every client %s and %v", gotType, err, wantType, wantErr)
		}
		if status, ok := gotObject.(*metav1.Status); ok {
			status.TypeMeta = metav1.TypeMeta{} // of which clients leave what was written, or not
			wantObject.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		}
		if diff := cmp.Diff(wantObject, gotObject); diff != "" {
			t.Errorf("(-every client +got):\n%s", diff)
		}
	}
	if _, _, err := got.Decode(); !errors.Is(err, io.EOF) {
		t.Errorf("error %v at the end, want EOF", err)
	}
}

func TestEventsOfAllTypes(t *testing.T) {
	cluster := `{"apiVersion":"cluster.open-cluster-management.io/v1","kind":"ManagedCluster","metadata":{"name":"a"}}`
	for name, tc := range map[string]struct {
		text string
		want watch.EventType
		says string // part of the error; empty: none
	}{
		"added":              {text: says("ADDED", cluster), want: watch.Added},
		"deleted":            {text: says("DELETED", cluster), want: watch.Deleted},
		"a bookmark":         {text: says("BOOKMARK", cluster), want: watch.Bookmark},
		"an error":           {text: says("ERROR", `{"kind":"Status","code":410}`), want: watch.Error},
		"in another order":   {text: `{"object":` + cluster + `, "type":"ADDED"}` + "\n", want: watch.Added},
		"with spaces":        {text: `{ "type": "ADDED", "object": ` + cluster + " }\r\n", want: watch.Added},
		"of an unknown type": {text: says("MOVED", cluster), says: `type "MOVED"`},
		"another kind":       {text: says("ADDED", strings.ReplaceAll(cluster, "ManagedCluster", "Placement")), says: "not what is watched"},
		"another version":    {text: says("ADDED", strings.ReplaceAll(cluster, "/v1", "/v2")), says: "not what is watched"},
		"no kind":            {text: says("ADDED", `{"metadata":{"name":"a"}}`), says: "not what is watched"},
		"an object cut off":  {text: says("ADDED", cluster[:len(cluster)-3]), says: "decoding an event of a watch of ManagedCluster"},
		"of nothing":         {text: `{"type":"ADDED","object":null}` + "\n", says: "an event of nothing"},
		"of the wrong form":  {text: says("ADDED", `{"metadata":[]}`), says: "decoding an event of a watch of ManagedCluster"},
		"an error cut off":   {text: says("ERROR", `{"kind":`), says: "decoding an event"},
		"no event":           {text: "<html>\n", says: "decoding an event"},
		"cut off":            {text: says("ADDED", cluster)[:40], says: io.ErrUnexpectedEOF.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			what, object, err := reading(tc.text).Decode()
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("error %v, want %q", err, tc.says)
				}
				return
			}
			if err != nil || what != tc.want || object == nil {
				t.Errorf("got %s, %v and error %v, want %s", what, object, err, tc.want)
			}
		})
	}
}

func TestAnEventIsBounded(t *testing.T) {
	if _, _, err := reading(strings.Repeat("a", longest+2*usual)).Decode(); !errors.Is(err, bufio.ErrTooLong) {
		t.Errorf("error %v, want %v", err, bufio.ErrTooLong)
	}
}

// BenchmarkHeartbeat reads what a heartbeat says, beside the decoder that every client has by default.
func BenchmarkHeartbeat(b *testing.B) {
	text := says("MODIFIED", written(b, generate.New(generate.Shape{Clusters: 10, Placements: 1, Seed: 3}).Clusters[3]))
	for _, by := range []struct {
		name string
		made func() watch.Decoder
	}{
		{"once", func() watch.Decoder { return reading(strings.Repeat(text, 100)) }},
		{"every-client", func() watch.Decoder { return usually(b, strings.Repeat(text, 100)) }},
	} {
		b.Run(by.name, func(b *testing.B) {
			b.ReportAllocs()
			for left, decoder := 0, watch.Decoder(nil); b.Loop(); left-- {
				if left == 0 {
					left, decoder = 100, by.made()
				}
				if _, _, err := decoder.Decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
