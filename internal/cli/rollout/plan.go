package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	reading "github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
	"github.com/berth-project/berth/rollout"
	"github.com/berth-project/berth/rollout/simulation"
)

const planLong = `Show how a strategy brings a change to the clusters of a placement, and write nothing.

The strategy is a file with a RolloutStrategy, as objects embed it, such as

  type: Progressive
  progressive: {maxConcurrency: 25%, maxFailures: 1, progressDeadline: 30m, mandatoryDecisionGroups: [{groupName: canary}]}

The placement and its decisions come from a hub, or with -f from files. Where files have no decisions of the placement, it
is decided first, as 'kubectl berth simulate' does. The name may be left out where there is only one placement.

Without --status and --simulate this prints the waves: the clusters that start together when none fails and none has the
change yet.

With --status it prints the next step and the reason for each cluster. The file lists how far clusters have come; those not
listed do not have the change:

  - {cluster: eu-1, state: Succeeded, since: "2026-11-20T09:00:00Z"}
  - {cluster: eu-2, state: Progressing, since: "2026-11-20T09:30:00Z"}

States are ToApply, Progressing, Succeeded, Failed, TimedOut and Skip.

With --simulate it runs the whole rollout against clusters that fail or hang at given rates, and prints the timeline. The
same seed gives the same timeline; --status sets where it begins. --lose names clusters that leave the decision once they
have the change: they count as failures, and hold what their mandatory group has to prove.`

const planExamples = `  # In which order would the clusters of placement web get a change?
  kubectl berth rollout plan web -n shop --strategy strategy.yaml

  # The same from files
  kubectl berth rollout plan -f placement.yaml -f fleet.yaml --strategy strategy.yaml

  # What comes next, and what does each cluster wait for?
  kubectl berth rollout plan web -n shop --strategy strategy.yaml --status status.yaml

  # How does it go when 5 % of the clusters fail and each takes about 10 minutes?
  kubectl berth rollout plan web -n shop --strategy strategy.yaml --simulate --failure-rate 0.05 --duration 10m --seed 7

  # What if the canary dies of the change?
  kubectl berth rollout plan web -n shop --strategy strategy.yaml --simulate --lose canary-1`

// planOptions is the command line of `kubectl berth rollout plan`.
type planOptions struct {
	source *reader.Fleet
	clock  clock.PassiveClock

	strategyFile, statusFile string
	now                      string
	output                   command.OutputFlag
	simulate                 bool
	fleet                    simulation.Fleet
	lost                     []string

	// namespace and name are of the placement, empty if not given; at is the instant to plan for.
	namespace, name string
	at              time.Time
}

func newPlan(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	p := &planOptions{source: reader.NewFleet(streams, clock), clock: clock}
	cmd := &cobra.Command{
		Use:               "plan [PLACEMENT] --strategy FILE [flags]",
		Short:             "Show the waves of a rollout, its next step, or a simulation",
		Long:              planLong,
		Example:           planExamples,
		ValidArgsFunction: completion.Of(p.source.HubFlags).One(reader.PlacementKind()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.complete(cmd, args); err != nil {
				return command.NewUsageError(cmd, err)
			}
			return p.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	flags.StringVar(&p.strategyFile, "strategy", "", "`file` with the strategy")
	flags.StringVar(&p.statusFile, "status", "", "`file` with how far the clusters have come")
	flags.StringVar(&p.now, "now", "", "`instant` to plan for, such as 2026-11-20T10:00:00Z (default: now)")
	p.output.Add(cmd, "`form` of the result: table, yaml or json", "table", "yaml", "json")
	flags.BoolVar(&p.simulate, "simulate", false, "simulate the whole rollout")
	flags.Float64Var(&p.fleet.FailureRate, "failure-rate", 0, "`share` of the clusters that fail, from 0 to 1, with --simulate")
	flags.Float64Var(&p.fleet.HangRate, "hang-rate", 0, "`share` of the clusters that never report, from 0 to 1, with --simulate")
	flags.DurationVar(&p.fleet.Duration, "duration", 5*time.Minute, "`time` that a cluster takes on average, with --simulate")
	flags.Float64Var(&p.fleet.Spread, "spread", 0.5, "`share` of --duration that clusters take more or less, from 0 to 1, with --simulate")
	flags.Uint64Var(&p.fleet.Seed, "seed", 1, "`number` that the outcome of each cluster follows from, with --simulate")
	flags.StringArrayVar(&p.lost, "lose", nil, "`name` of a cluster that leaves once it has the change, with --simulate; may be repeated")
	completion.Register(cmd, "lose", completion.Of(p.source.HubFlags).All(reader.ClusterKind()))
	command.AddFleetFlags(cmd, p.source)
	return cmd
}

// complete checks the command line.
func (p *planOptions) complete(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("unexpected argument %q: one placement is planned at a time", args[1])
	}
	p.namespace = p.source.HubFlags.Namespace()
	if len(args) == 1 {
		p.name = args[0]
		if namespace, name, qualified := strings.Cut(p.name, "/"); qualified {
			p.namespace, p.name = namespace, name
		}
	}
	if p.strategyFile == "" {
		return errors.New("no strategy is given: name its file with --strategy")
	}
	if err := p.output.Check(); err != nil {
		return err
	}
	var err error
	if p.at, err = command.Now(p.now, p.clock); err != nil {
		return err
	}
	return p.completeSimulation(cmd)
}

// maxDuration keeps what a play adds up to within the calendar.
const maxDuration = 30 * 24 * time.Hour

func (p *planOptions) completeSimulation(cmd *cobra.Command) error {
	for _, name := range []string{"failure-rate", "hang-rate", "duration", "spread", "seed", "lose"} {
		if !p.simulate && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is read with --simulate only", name)
		}
	}
	share := func(x float64) bool { return x >= 0 && x <= 1 }
	switch {
	case !share(p.fleet.FailureRate) || !share(p.fleet.HangRate) || !share(p.fleet.FailureRate+p.fleet.HangRate):
		return errors.New("--failure-rate and --hang-rate must be from 0 to 1, and together at most 1")
	case !share(p.fleet.Spread):
		return errors.New("--spread must be from 0 to 1")
	case p.fleet.Duration <= 0 || p.fleet.Duration > maxDuration:
		return fmt.Errorf("--duration must be more than 0 and at most %s", maxDuration)
	}
	return nil
}

func (p *planOptions) run(ctx context.Context) error {
	strategy, err := readStrategy(p.strategyFile)
	if err != nil {
		return err
	}
	statuses, err := readStatuses(p.statusFile)
	if err != nil {
		return err
	}
	placement, set, err := p.read(ctx)
	if err != nil {
		return err
	}
	p.warn(placement, set)
	groups := rollout.Groups{
		Groups: set.Groups(), ClustersPerDecisionGroup: placement.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup,
	}
	play := simulation.Run{Strategy: strategy, Groups: groups, Statuses: statuses, Lost: p.lost, Fleet: p.fleet, Start: p.at}
	if err := p.checkLost(groups); err != nil {
		return err
	}
	planOf := rollouts.Waves
	switch {
	case p.simulate:
		planOf = rollouts.Timeline
	case p.statusFile != "":
		planOf = rollouts.NextStep
	}
	made := planOf(placement, play)
	for _, to := range made.Unmatched() {
		printer.Printf(p.source.Streams.ErrOut, "warning: the strategy names %s, which the placement does not have\n", rollout.Reference(to))
	}
	return printer.WriteBuffered(p.source.Streams.Out, func(w io.Writer) error {
		if p.output.Form == "table" {
			return made.Print(w, printer.Screen{})
		}
		return printer.WriteData(w, p.output.Form, made)
	})
}

// checkLost refuses clusters to lose that are not selected.
func (p *planOptions) checkLost(groups rollout.Groups) error {
	for _, cluster := range p.lost {
		if !slices.ContainsFunc(groups.Groups, func(group reading.Group) bool { return slices.Contains(group.Clusters, cluster) }) {
			return fmt.Errorf("--lose %s: the placement does not select this cluster; `kubectl berth decided` lists those that it selects", cluster)
		}
	}
	return nil
}

// read returns the placement and what it has decided.
func (p *planOptions) read(ctx context.Context) (*clusterv1beta1.Placement, reading.Decisions, error) {
	namespace := p.namespace
	if namespace == "" {
		var err error
		if namespace, err = p.source.Namespace(); err != nil {
			return nil, reading.Decisions{}, err
		}
	}
	bundle, err := p.source.Load(ctx, reader.Scope{Kinds: []reader.Kind{reader.PlacementKind(), reader.DecisionKind()}, Namespace: namespace})
	if err != nil {
		return nil, reading.Decisions{}, err
	}
	placement, err := reader.PlacementIn(bundle, namespace, p.name)
	if err != nil {
		return nil, reading.Decisions{}, err
	}
	key := file.KeyOf(placement)
	stored := bundle.Decisions[key]
	if len(stored) == 0 && p.source.Offline() {
		for _, made := range offline.Decide(bundle, p.at) {
			if made.Key == key {
				return made.Placement, reading.Of(made.Slices...), nil
			}
		}
	}
	return placement, reading.Of(stored...), nil
}

// warn prints a warning where decisions are missing or inconsistent.
func (p *planOptions) warn(placement *clusterv1beta1.Placement, set reading.Decisions) {
	var signs []string
	if len(set.Groups()) == 0 {
		printer.Printf(p.source.Streams.ErrOut, "warning: placement %s has decided nothing yet\n", file.KeyOf(placement))
	}
	for _, tear := range set.Inconsistencies() {
		signs = append(signs, tear.String())
	}
	signs = append(signs, set.Disagreements(placement)...)
	if len(signs) > 0 {
		printer.Printf(p.source.Streams.ErrOut, "warning: the decisions may be about to change: %s\n",
			phrase.Join(signs, phrase.MaxNames))
	}
}
