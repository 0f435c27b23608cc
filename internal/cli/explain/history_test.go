package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/engine/escape"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/cli/printer"
)

func TestHistoryTable(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	of := &explain.History{Namespace: "shop", Name: "web", From: at, Dropped: 2, Changes: []explain.Change{{
		At: at, Hidden: 1, MoreCauses: 3, Causes: []explain.Cause{{Kind: "ManagedCluster", Name: "eu-3", What: "taints changed"}},
		Moves: []explain.Move{
			{Cluster: "eu-3", After: &explain.State{Verdict: "Tainted", Why: "taint gpu=true:NoSelect"}},
			{Cluster: "eu-4", Added: true, Before: &explain.State{Verdict: "Beaten", Why: "others rank higher"}},
			{Cluster: "eu-5", Added: true},
		},
	}}}
	for sentence, test := range map[string]struct {
		of   *explain.History
		want string
	}{
		"changes": {of, `
TIME                   CLUSTER      CHANGE                                     CAUSE
2026-11-20T10:00:00Z   eu-3         removed, Tainted: taint gpu=true:NoSelect  ManagedCluster eu-3: taints changed; and 3 more
2026-11-20T10:00:00Z   eu-4         added, was Beaten: others rank higher      ManagedCluster eu-3: taints changed; and 3 more
2026-11-20T10:00:00Z   eu-5         added                                      ManagedCluster eu-3: taints changed; and 3 more
2026-11-20T10:00:00Z   (1 others)                                              ManagedCluster eu-3: taints changed; and 3 more
2 earlier changes are not kept.
`},
		"none": {
			&explain.History{Namespace: "shop", Name: "web", From: at},
			"\nNo change of placement shop/web is known since 2026-11-20T10:00:00Z.\n",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			var out strings.Builder
			if err := writeHistory(&out, test.of, "table", printer.Screen{}); err != nil {
				t.Fatal(err)
			}
			squeeze := func(text string) []string {
				var lines []string
				for line := range strings.Lines(strings.TrimSpace(text)) {
					lines = append(lines, strings.Join(strings.Fields(line), " "))
				}
				return lines
			}
			if diff := cmp.Diff(squeeze(test.want), squeeze(out.String())); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHistoryShowsNoControlCharacters shows what a hub might send.
func TestHistoryShowsNoControlCharacters(t *testing.T) {
	const hostile = "\x1b[31mx\a\r\nFORGED\u202e\u009b"
	of := &explain.History{Namespace: hostile, Name: hostile, Changes: []explain.Change{{
		Causes: []explain.Cause{{Kind: hostile, Name: hostile, What: hostile}},
		Moves:  []explain.Move{{Cluster: hostile, After: &explain.State{Verdict: hostile, Why: hostile}}},
	}}}
	empty := &explain.History{Namespace: hostile, Name: hostile}
	for _, form := range []string{"table", "json", "yaml"} {
		for _, of := range []*explain.History{of, empty} {
			var out strings.Builder
			streams := printer.SanitizeStreams(genericiooptions.IOStreams{Out: &out})
			if err := writeHistory(streams.Out, of, form, printer.Screen{}); err != nil {
				t.Fatal(err)
			}
			shown := strings.ReplaceAll(out.String(), "\n", "")
			if escape.Text(shown) != shown || strings.Contains(out.String(), "\nFORGED") {
				t.Errorf("as %s: %q", form, out.String())
			}
		}
	}
}
