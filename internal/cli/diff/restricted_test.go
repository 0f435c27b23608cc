package diff //nolint:testpackage // the part of a hub that a tenant may read

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/internal/cli/change"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/source/file"
)

// TestTheBrakeOfTheHubNeedsAWholeView drains all twelve clusters that a tenant may see. They may be few of the
// hub, but all of their set.
func TestTheBrakeOfTheHubNeedsAWholeView(t *testing.T) {
	const group = "apiVersion: cluster.open-cluster-management.io/"
	fleet := func(set string) string {
		out := "{" + group + "v1beta2, kind: ManagedClusterSetBinding, metadata: {name: " + set + ", namespace: shop}, " +
			"spec: {clusterSet: " + set + "}}\n---\n{" + group + "v1beta1, kind: Placement, metadata: {name: web, namespace: shop}, spec: {}}\n"
		if set == "global" {
			out += "---\n{" + group + "v1beta2, kind: ManagedClusterSet, metadata: {name: global}, spec: {clusterSelector: " +
				"{selectorType: LabelSelector, labelSelector: {}}}}\n"
		} else {
			out += "---\n{" + group + "v1beta2, kind: ManagedClusterSet, metadata: {name: " + set + "}}\n"
		}
		for i := range 12 {
			out += fmt.Sprintf("---\n{%sv1, kind: ManagedCluster, metadata: {name: c%d, labels: {"+
				"cluster.open-cluster-management.io/clusterset: %s}}, spec: {hubAcceptsClient: true}}\n", group, i, set)
		}
		return out
	}
	for name, test := range map[string]struct {
		set        string
		restricted bool
		want, not  string
	}{
		"the whole hub":         {"global", false, "Braked: managedclusterset/global: at least", "lost"},
		"a part of the hub":     {"global", true, "12 clusters lost", "Braked"},
		"a set":                 {"gold", false, "Braked: managedclusterset/gold: at least 7 of 12", "lost"},
		"a set of a part of it": {"gold", true, "Braked, as far as you can read the hub: managedclusterset/gold: at least 7 of 12", "lost"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "base.yaml")
			if err := os.WriteFile(path, []byte(fleet(test.set)), 0o600); err != nil {
				t.Fatal(err)
			}
			streams, _, _, _ := genericiooptions.NewTestIOStreams()
			o := &options{Fleet: reader.NewFleet(streams, clocktesting.NewFakePassiveClock(time.Now())), brake: brakeOn}
			o.Files, o.Restricted = []string{path}, test.restricted
			proposed := &change.Proposal{
				Applied: file.NewBundle(file.Objects{}), Drained: []string{"cluster.open-cluster-management.io/clusterset"},
			}
			report, err := o.decisionDiff(t.Context(), proposed, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := change.Print(&out, report, printer.Screen{}); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); !strings.Contains(got, test.want) || strings.Contains(got, test.not) {
				t.Errorf("want %q and not %q:\n%s", test.want, test.not, got)
			}
		})
	}
}
