package cluster

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/membership/join"
)

func TestRemovalText(t *testing.T) {
	full := join.Removal{Cluster: "edge-1", Works: []string{"api", "cfg"}, Sets: []string{"shop/api"}, AddOns: []string{"metrics"}}
	denied := full
	denied.Denied = true
	const listed = "With the ManagedCluster edge-1 the hub deletes:\n  2 works: api, cfg, which belong to 1 set: shop/api\n" +
		"  1 add-on: metrics\n"
	for sentence, test := range map[string]struct {
		of   join.Removal
		keep bool
		want string
	}{
		"workloads go": {full, false, listed + "Its agent deletes what the works applied on the member, a namespace with everything in it. " +
			"--keep-workloads leaves it there.\n"},
		"workloads stay": {full, true, listed + "What the works applied stays on the member.\n"},
		"a denied cluster keeps them": {denied, false, listed + "The hub denies the cluster, so that what its works applied stays on the " +
			"member. To remove it, first run: kubectl berth accept edge-1\n"},
		"the user may list neither": {
			join.Removal{Cluster: "edge-1", WorksHidden: true, AddOnsHidden: true},
			true,
			"With the ManagedCluster edge-1 the hub deletes:\n  works that you may not list\n  add-ons that you may not list\n" +
				"What the works applied stays on the member.\n",
		},
		"nothing goes with it": {
			join.Removal{Cluster: "edge-1"},
			false,
			"With the ManagedCluster edge-1 the hub deletes:\n  0 works\n  0 add-ons\n",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, removalText(test.of, test.keep)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfirm(t *testing.T) {
	for sentence, test := range map[string]struct {
		input    string
		terminal bool
		want     error
	}{
		"yes":                       {"yes\n", true, nil},
		"y, without a line feed":    {"Y", true, nil},
		"no":                        {"n\n", true, errDeclined},
		"nothing":                   {"\n", true, errDeclined},
		"the end of the input":      {"", true, errDeclined},
		"another word":              {"edge-1\n", true, errDeclined},
		"yes, and it is a pipe":     {"yes\n", false, errUnconfirmed},
		"nothing, and it is a file": {"", false, errUnconfirmed},
	} {
		t.Run(sentence, func(t *testing.T) {
			var out bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(test.input), Out: &out}
			if err := confirm(streams, test.terminal, "edge-1"); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if prompted := out.String() == "Delete the cluster edge-1? [y/N] "; prompted != test.terminal {
				t.Errorf("it prints %q", out.String())
			}
		})
	}
}
