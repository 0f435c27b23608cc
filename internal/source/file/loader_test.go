package file_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/source/file"
)

func cluster(name string) string {
	return "{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: " + name + "}}\n"
}

// writeFiles creates files in a temporary folder, by relative path, and returns the folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func clusters(bundle *file.Bundle) []string {
	var out []string
	for _, cluster := range bundle.Clusters {
		out = append(out, cluster.Name)
	}
	return out
}

func TestFolders(t *testing.T) {
	root := writeFiles(t, map[string]string{
		"b.yaml": cluster("b"), "a.yml": cluster("a"), "c.json": `{"apiVersion": "v1", "kind": "List", "items": []}`, "D.YAML": cluster("d"),
		"notes.txt": "not read", "below/e.yaml": cluster("e"), "below/further/f.yaml": cluster("f"), "empty/notes.txt": "",
	})
	if err := os.Symlink(filepath.Join(root, "below", "e.yaml"), filepath.Join(root, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(root, "below", "circle")); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		names     []string
		recursive bool
		want      []string
		wantErr   string
	}{
		"a file of any name":       {names: []string{"b.yaml"}, want: []string{"b"}},
		"a folder":                 {names: []string{""}, want: []string{"d", "a", "b", "e"}},
		"a folder and those below": {names: []string{"below"}, recursive: true, want: []string{"e", "f"}},
		"an object by two ways":    {names: []string{""}, recursive: true, wantErr: "is given twice"},
		"a folder without any":     {names: []string{"empty"}, wantErr: "-R looks in the folders below too"},
		"nor any below":            {names: []string{"empty"}, recursive: true, wantErr: "in it or below"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var paths []string
			for _, name := range tc.names {
				paths = append(paths, filepath.Join(root, name))
			}
			bundle, err := file.Loader{Recursive: tc.recursive}.Load(t.Context(), paths)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got %v, want an error with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, clusters(bundle)); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
		})
	}
}

var errBoom = errors.New("boom")

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errBoom }

func TestUnreadableInput(t *testing.T) {
	root := writeFiles(t, map[string]string{"a.yaml": cluster("a"), "b.yaml": cluster("b"), "d/gone.yaml": ""})
	gone := filepath.Join(root, "d", "gone.yaml")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "nowhere"), gone); err != nil {
		t.Fatal(err)
	}
	exact := int64(len(cluster("a")))
	cases := map[string]struct {
		loader file.Loader
		names  []string
		want   []string
	}{
		"a file that is not there": {names: []string{filepath.Join(root, "x.yaml")}, want: []string{
			filepath.Join(root, "x.yaml") + ": cannot be read: no such file or directory; check the path",
		}},
		"a link to nowhere": {names: []string{filepath.Join(root, "d")}, want: []string{gone + ": cannot be read"}},
		"a stream that breaks": {loader: file.Loader{Stdin: failingReader{}}, names: []string{"-"}, want: []string{
			"standard input: cannot be read: boom",
		}},
		"standard input twice": {names: []string{"-", "-"}, want: []string{"standard input: is given twice"}},
		"more than the limit": {
			loader: file.Loader{Limit: exact}, names: []string{filepath.Join(root, "a.yaml"), filepath.Join(root, "b.yaml")},
			want: []string{filepath.Join(root, "b.yaml") + ": too much input: at most " + fmt.Sprint(exact) + " bytes are read in all"},
		},
		"more than the limit without an end": {
			loader: file.Loader{Stdin: endlessReader{}, Limit: 1 << 20}, names: []string{"-", filepath.Join(root, "x.yaml")},
			want: []string{"standard input: too much input: at most 1 MiB are read in all"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			bundle, err := tc.loader.Load(t.Context(), tc.names)
			faults, ok := errors.AsType[file.FaultsError](err)
			if !ok || bundle != nil || len(faults) != len(tc.want) {
				t.Fatalf("got %v, %v, want %d faults and no bundle", bundle, err, len(tc.want))
			}
			for i, want := range tc.want {
				if !strings.HasPrefix(faults[i].String(), want) {
					t.Errorf("got %q, want %q", faults[i], want)
				}
			}
		})
	}
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat("# more\n", 1+len(p)/7)), nil
}

func TestInputOfExactlyTheLimit(t *testing.T) {
	text := cluster("a")
	bundle, err := file.Loader{Stdin: strings.NewReader(text), Limit: int64(len(text))}.Load(t.Context(), []string{"-"})
	if err != nil || len(bundle.Clusters) != 1 {
		t.Errorf("got %v, %v", bundle, err)
	}
}

func TestSnapshot(t *testing.T) {
	const input = `
apiVersion: v1
kind: List
items:
- apiVersion: cluster.open-cluster-management.io/v1
  kind: ManagedCluster
  metadata: {name: c1, labels: {cluster.open-cluster-management.io/clusterset: s}}
- apiVersion: cluster.open-cluster-management.io/v1beta1
  kind: ManagedClusterSet
  metadata: {name: s}
- apiVersion: cluster.open-cluster-management.io/v1beta2
  kind: ManagedClusterSetBinding
  metadata: {name: s, namespace: ns}
  spec: {clusterSet: s}
- apiVersion: cluster.open-cluster-management.io/v1alpha1
  kind: AddOnPlacementScore
  metadata: {name: r, namespace: c1}
  status: {scores: [{name: a, value: 7}]}
- apiVersion: cluster.open-cluster-management.io/v1beta1
  kind: Placement
  metadata: {name: p, namespace: ns}
  spec: {}
- apiVersion: cluster.open-cluster-management.io/v1beta1
  kind: PlacementDecision
  metadata: {name: p-decision-2, namespace: ns, labels: {cluster.open-cluster-management.io/decision-group-index: "0"}}
  status: {decisions: [{clusterName: c1, reason: ""}]}
- apiVersion: cluster.open-cluster-management.io/v1beta1
  kind: PlacementDecision
  metadata: {name: elsewhere-decision-1, namespace: other}
  status: {decisions: [{clusterName: c1, reason: ""}, {clusterName: c9, reason: ""}]}
`
	bundle, err := file.Loader{Stdin: strings.NewReader(input)}.Load(t.Context(), []string{"-"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	snapshot := bundle.Snapshot(now)
	id, known := snapshot.ID("c1")
	set, found := snapshot.Set("s")
	key := fleet.Key{Namespace: "ns", Name: "p"}
	switch score := snapshot.Score(id, "r"); {
	case !snapshot.Now.Equal(now):
		t.Errorf("now is %v", snapshot.Now)
	case !known || snapshot.Cluster(id) == nil:
		t.Error("the cluster is missing")
	case !found || !set.Has(snapshot.Cluster(id)):
		t.Error("the set does not have the cluster")
	case score == nil || len(score.Items) != 1:
		t.Error("the score is missing")
	case snapshot.DecisionCount(id) != 2:
		t.Errorf("the cluster is chosen %d times, want 2", snapshot.DecisionCount(id))
	case bundle.Programs[key] == nil:
		t.Error("the placement is not compiled")
	}
	if diff := cmp.Diff([]string{"s"}, snapshot.BoundSets("ns")); diff != "" {
		t.Errorf("bound sets (-want +got):\n%s", diff)
	}
	want := []fleet.Slice{{Number: 2, Clusters: []string{"c1"}}}
	if diff := cmp.Diff(want, snapshot.Slices(key)); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
}

// BenchmarkLoad reads a fleet of a size that `kubectl get -o json` or `-o yaml` prints.
func BenchmarkLoad(b *testing.B) {
	for _, clusters := range []int{10, 1000, 10000} {
		var input strings.Builder
		for i := range clusters {
			fmt.Fprintf(&input, `---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c%05d, labels: {region: r%d, cluster.open-cluster-management.io/clusterset: s%d}}
spec: {hubAcceptsClient: true, leaseDurationSeconds: 60}
status:
  allocatable: {cpu: "%d", memory: 64Gi}
  capacity: {cpu: "64", memory: 64Gi}
  clusterClaims: [{name: id.k8s.io, value: c%05d}, {name: platform.open-cluster-management.io, value: AWS}]
  conditions:
  - {type: ManagedClusterConditionAvailable, status: "True", reason: ManagedClusterAvailable, message: up, lastTransitionTime: "2026-11-20T10:00:00Z"}
`, i, i%10, i%7, i%64, i)
		}
		text := input.String()
		b.Run(fmt.Sprintf("clusters=%d", clusters), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				bundle, err := file.Loader{Stdin: io.NopCloser(strings.NewReader(text))}.Load(b.Context(), []string{"-"})
				if err != nil || len(bundle.Clusters) != clusters {
					b.Fatal(bundle, err)
				}
			}
		})
	}
}
