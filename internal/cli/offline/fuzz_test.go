package offline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/source/file"
)

// FuzzDecide reads anything, and decides what is a fleet: always in the same way, and a fleet that is decided stays as it
// is when it is decided again.
func FuzzDecide(f *testing.F) {
	for _, pattern := range []string{"../simulate/testdata/*/*.yaml", "../../../examples/simulate/*/*.*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			if len(data) < 20_000 {
				f.Add(string(data))
			}
		}
	}
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		read := func() *file.Bundle {
			bundle, err := file.Loader{Stdin: strings.NewReader(text)}.Load(t.Context(), []string{"-"})
			if err != nil {
				t.Skip("no fleet")
			}
			return bundle
		}
		bundle := read()
		first, second := offline.Decide(bundle, now), offline.Decide(read(), now)
		if diff := cmp.Diff(clustersOf(first), clustersOf(second)); diff != "" {
			t.Fatalf("the same files, decided twice (-first +second):\n%s", diff)
		}
		bundle.Placements = nil
		for _, made := range first {
			bundle.Placements = append(bundle.Placements, made.Placement)
			bundle.Decisions[made.Key] = made.Slices
		}
		again := offline.Decide(bundle, now)
		if diff := cmp.Diff(clustersOf(first), clustersOf(again)); diff != "" {
			t.Fatalf("decided again, nothing having changed (-first +again):\n%s", diff)
		}
		for _, made := range again {
			if made.Result != nil && !made.Plan.Empty() {
				t.Fatalf("%s: decided again, nothing having changed, and %d writes are left", made.Key, len(made.Plan.Writes))
			}
		}
	})
}

// clustersOf returns what is stored of each placement: the clusters of each slice, with its group.
func clustersOf(decided []offline.Decision) map[string][]string {
	out := map[string][]string{}
	for _, made := range decided {
		for _, slice := range made.Slices {
			line := slice.Name + "#" + slice.Labels[clusterv1beta1.DecisionGroupIndexLabel] + "#" +
				slice.Labels[clusterv1beta1.DecisionGroupNameLabel]
			for _, entry := range slice.Status.Decisions {
				line += " " + entry.ClusterName
			}
			out[made.Key.String()] = append(out[made.Key.String()], line)
		}
	}
	return out
}
