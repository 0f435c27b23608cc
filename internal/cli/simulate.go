package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/source/file"
)

const simulateLong = `Decide placements offline, by the rules that the manager on a hub follows, and write nothing.

The input is any mix of ManagedClusters, ManagedClusterSets, ManagedClusterSetBindings, Placements, PlacementDecisions
and AddOnPlacementScores, as manifests or as kubectl prints them. PlacementDecisions are the decisions so far: what they
name stays selected where it can, and counts for Balance. Objects of other kinds are skipped.

Placements are decided by namespace, then name, each seeing the decisions of those before. One that has the annotation
cluster.open-cluster-management.io/experimental-scheduling-disable: "true", or that is being deleted, is shown as it is.

Input that a hub would refuse is refused, with every fault that it has. Fields that a hub would drop are dropped, with a
warning.

The table is for people. yaml and json give a List of each Placement with its status, followed by its
PlacementDecisions: what a hub would hold. Given back together with the fleet, it decides the same again.

Exit codes: 0 when all is well, 1 when --require-satisfied is given and a placement is not satisfied, 2 when the input or
the command line is wrong.`

const simulateExamples = `  # What would the placements in a folder select from the fleet of a hub?
  kubectl get managedclusters,managedclustersets -o yaml > fleet.yaml
  kubectl get managedclustersetbindings,placementdecisions -A -o yaml > namespaces.yaml
  kubectl berth simulate -f fleet.yaml -f namespaces.yaml -f placements/

  # Straight from a hub, without a file
  kubectl get mcl,mclset,mclsetbinding,placement,placementdecision,addonplacementscore -A -o yaml | kubectl berth simulate -f -

  # What will have changed tomorrow, when tolerations and scores have run out?
  kubectl berth simulate -f fleet.yaml --now 2026-11-21T09:00:00Z

  # Fail a pipeline when a placement would not get the clusters that it asks for
  kubectl berth simulate -f fleet.yaml -f placement.yaml --require-satisfied

  # The decisions themselves
  kubectl berth simulate -f fleet.yaml -o json | jq -r '.items[].status.decisions[]?.clusterName'`

// simulate is the command line of `kubectl berth simulate`.
type simulate struct {
	streams genericiooptions.IOStreams
	clock   clock.PassiveClock

	files            []string
	recursive        bool
	namespace        string
	now              string
	output           string
	requireSatisfied bool
}

func newSimulate(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	s := &simulate{streams: streams, clock: clock}
	cmd := &cobra.Command{
		Use:     "simulate -f FILE... [flags]",
		Short:   "Decide placements offline, from files",
		Long:    simulateLong,
		Example: simulateExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now, form, err := s.complete()
			if err != nil {
				return usageError{cmd, err}
			}
			return s.run(cmd.Context(), now, form)
		},
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&s.files, "filename", "f", nil, "`file` to read objects from, or a folder, or - for standard input; may be repeated")
	flags.BoolVarP(&s.recursive, "recursive", "R", false, "read the folders below a folder too")
	flags.StringVarP(&s.namespace, "namespace", "n", "default", "`namespace` of objects that do not say theirs")
	flags.StringVar(&s.now, "now", "", "`instant` to decide for, such as 2026-11-20T10:00:00Z (default: now)")
	flags.StringVarP(&s.output, "output", "o", "table", "`form` of the result: table, yaml or json")
	flags.BoolVar(&s.requireSatisfied, "require-satisfied", false, "exit with 1 when a placement is not satisfied")
	return cmd
}

// printer writes decisions in one of the forms.
type printer func(w io.Writer, decided []decision) error

// complete checks the flags.
func (s *simulate) complete() (time.Time, printer, error) {
	if len(s.files) == 0 {
		return time.Time{}, nil, errors.New("nothing to read: give at least one file, folder or - with -f")
	}
	form, known := map[string]printer{"table": printTable, "yaml": printYAML, "json": printJSON}[s.output]
	if !known {
		return time.Time{}, nil, fmt.Errorf("unknown output %q: use table, yaml or json", s.output)
	}
	now := s.clock.Now()
	if s.now != "" {
		var err error
		if now, err = time.Parse(time.RFC3339, s.now); err != nil {
			return time.Time{}, nil, fmt.Errorf("--now %q is not in RFC 3339 form, such as 2026-11-20T10:00:00Z", s.now)
		}
	}
	return now, form, nil
}

func (s *simulate) run(ctx context.Context, now time.Time, form printer) error {
	loader := file.Loader{Stdin: s.streams.In, Recursive: s.recursive, Namespace: s.namespace}
	bundle, err := loader.Load(ctx, s.files)
	if err != nil {
		return err
	}
	remark(s.streams.ErrOut, bundle)
	if len(bundle.Placements) == 0 {
		fmt.Fprintln(s.streams.ErrOut, "warning: no Placement is given, so there is nothing to decide")
	}
	decided := decide(bundle, now)
	var out bytes.Buffer
	if err := form(&out, decided); err != nil {
		return err
	}
	if _, err := s.streams.Out.Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if unsatisfied := notSatisfied(decided); s.requireSatisfied && len(unsatisfied) > 0 {
		return unsatisfied
	}
	return nil
}

// notSatisfied names the placements whose PlacementSatisfied is not True, each with the reason.
func notSatisfied(decided []decision) unsatisfiedError {
	var out unsatisfiedError
	for _, d := range decided {
		condition := meta.FindStatusCondition(d.placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied)
		switch {
		case condition == nil:
			out = append(out, d.key.String()+": it never was decided")
		case condition.Status != "True":
			out = append(out, fmt.Sprintf("%s: %s: %s", d.key, condition.Reason, condition.Message))
		}
	}
	return out
}
