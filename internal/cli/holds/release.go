package holds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

const releaseLong = `End the holds of an object: what was held back happens.

| type | what happens |
|---|---|
| Breach | the failures of the present template count no more, and the rollout continues; new failures count |
| UnprovenGroup | the mandatory group that holds the present template is passed, and the rollout continues; later ones are proven |
| MissingClusters | the rollout finishes without the clusters that are not selected any more |
| Edit | the last edit of the placement is followed: its clusters leave, by the disruption policy |
| Expression | the clusters on which an expression fails now leave, by the disruption policy |
| Reference | the last edit of the placement is followed, unless it leaves no cluster and is held for that |
| Selector | the selector of the cluster set is followed: every member leaves, and with them the decisions that have them |
| Brake | what the brake of the cluster set keeps leaves, by the disruption policies; the set has no brake for ten minutes |
| Grace | the clusters that were selected by what is gone leave, by the disruption policies |

To call the change off instead, undo its cause: ` + "`kubectl berth rollout undo`" + `. To forgive one cluster or to pass one group, use
` + "`kubectl berth rollout forgive`" + ` and ` + "`approve`" + `. You need the permission to update rolloutcontrols; for an Edit, an
Expression and a Reference to patch the placement, for a Selector to patch the managedclusterset, for a Brake
to update managedclustersets/brake as well.`

var (
	errNoReason  = errors.New("no reason is given: write --reason, for those who look at the object later")
	errOneObject = errors.New("name one object, as `kubectl berth holds` prints it: manifestworkreplicaset/NAME, placement/NAME or " +
		"managedclusterset/NAME")
)

// releaseOptions is the command line of `kubectl berth holds release`.
type releaseOptions struct {
	streams genericiooptions.IOStreams
	clock   clock.PassiveClock
	flags   *reader.HubFlags

	hold, reason string
}

func newRelease(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &releaseOptions{streams: streams, clock: clock, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use: "release KIND/NAME --reason REASON [flags]", Short: "End the holds of an object", Long: releaseLong,
		Example: "  # Continue the rollout of the set web in spite of its failures\n" +
			"  kubectl berth holds release manifestworkreplicaset/web -n shop --reason 'the disks were full'",
		RunE: func(cmd *cobra.Command, args []string) error {
			release, name, err := o.object(args)
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			return release(cmd.Context(), name)
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().StringVar(&o.hold, "hold", "", "`type` of the hold to end (default: every hold of the object)")
	cmd.Flags().StringVar(&o.reason, "reason", "", "`reason` why what is held back is to happen")
	completion.Register(cmd, "hold", cobra.FixedCompletions(typeNames(), cobra.ShellCompDirectiveNoFileComp))
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

func typeNames() []string {
	var out []string
	for _, of := range hold.Types() {
		out = append(out, string(of))
	}
	return out
}

// object checks the command line and returns what ends the holds of a kind, and the name of the object.
func (o *releaseOptions) object(args []string) (release func(ctx context.Context, name string) error, name string, err error) {
	at := slices.IndexFunc(typeNames(), func(name string) bool { return strings.EqualFold(name, o.hold) })
	switch {
	case at >= 0:
		o.hold = typeNames()[at]
	case o.hold != "":
		return nil, "", fmt.Errorf("unknown hold %q: use %s", o.hold, strings.Join(typeNames(), " or "))
	}
	if strings.TrimSpace(o.reason) == "" {
		return nil, "", errNoReason
	}
	if len(args) != 1 {
		return nil, "", errOneObject
	}
	kind, name, _ := strings.Cut(args[0], "/")
	release, known := map[string]func(context.Context, string) error{
		"manifestworkreplicaset": o.releaseSet, "manifestworkreplicasets": o.releaseSet, "mwrs": o.releaseSet,
		"placement": o.releasePlacement, "placements": o.releasePlacement,
		"managedclusterset": o.releaseClusterSet, "managedclustersets": o.releaseClusterSet, "mclset": o.releaseClusterSet,
		"managedclustersetbinding": o.endGrace(bindingKind), "managedclustersetbindings": o.endGrace(bindingKind),
		"mclsetbinding":  o.endGrace(bindingKind),
		"managedcluster": o.endGrace(clusterKind), "managedclusters": o.endGrace(clusterKind),
		"mcl": o.endGrace(clusterKind),
	}[strings.ToLower(kind)]
	if !known || name == "" {
		return nil, "", fmt.Errorf("%q is no object that Berth holds back: write manifestworkreplicaset/NAME, placement/NAME, "+
			"managedclusterset/NAME, managedclustersetbinding/NAME or managedcluster/NAME", args[0])
	}
	return release, name, nil
}

// releaseSet ends the holds of a set of works.
func (o *releaseOptions) releaseSet(ctx context.Context, name string) error {
	hub, key, err := rollouts.Caller{Flags: o.flags, ErrOut: o.streams.ErrOut}.Connect(name)
	if err != nil {
		return err
	}
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := hub.Get(ctx, key, set); err != nil {
		return fmt.Errorf("reading the set %s: %w", key, err)
	}
	planned := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.Progressing)
	if planned != nil && planned.ObservedGeneration != set.Generation {
		return fmt.Errorf("the manager has not planned the last change of the set %s yet: wait for it, and look at "+
			"`kubectl berth holds -n %s`", key, key.Namespace)
	}
	found := slices.DeleteFunc(report.Holds(set), func(h hold.Hold) bool { return o.hold != "" && h.Type != hold.Type(o.hold) })
	if len(found) == 0 {
		by := ""
		if o.hold != "" {
			by = " by " + o.hold
		}
		return fmt.Errorf("nothing is held back of the set %s%s: `kubectl berth holds -n %s` lists the holds", key, by, key.Namespace)
	}
	for i := range found {
		what, err := o.release(ctx, hub, set, &found[i])
		if err != nil {
			return err
		}
		printer.Printf(o.streams.Out, "%s: %s is released: %s\n", found[i].Object(), found[i].Type, what)
	}
	return nil
}

// release ends a hold and returns what it did.
func (o *releaseOptions) release(
	ctx context.Context, hub client.Client, set *workv1alpha1.ManifestWorkReplicaSet, of *hold.Hold,
) (what string, err error) {
	if set.Status.AbortedTime != nil {
		return "", fmt.Errorf("the rollout of the set %s/%s was aborted, and its clusters return: write another template, or remove "+
			"failureStrategy", set.Namespace, set.Name)
	}
	if of.Type == hold.Breach {
		failed, more := rollouts.Counted(set)
		forgiven, err := rollouts.Forgive(set, failed, o.reason)
		if err != nil {
			return "", err
		}
		if _, err := rollouts.ChangeControl(ctx, hub, set, rollouts.AddForgiven(forgiven)); err != nil {
			return "", err
		}
		what := phrase.Count(len(failed), "failure") + " forgiven: " + phrase.Join(failed, phrase.MaxNames)
		if more > 0 {
			what += fmt.Sprintf("; %d more failed and have no name in the status, so they still count: raise maxFailures", more)
		}
		return what, nil
	}
	reason, err := rollouts.TrimReason(o.reason)
	if err != nil {
		return "", err
	}
	if of.Type == hold.MissingClusters {
		finish, err := rollouts.FinishWithoutMissing(set, reason, o.clock.Now())
		if err != nil {
			return "", err
		}
		if _, err := rollouts.ChangeControl(ctx, hub, set, finish); err != nil {
			return "", err
		}
		return "the rollout finishes without " + phrase.Count(int(set.Status.Rollout.Missing), "missing cluster"), nil
	}
	passed, err := rollouts.PassHeld(set, of, reason)
	if err != nil {
		return "", err
	}
	if _, err := rollouts.ChangeControl(ctx, hub, set, rollouts.AddApprovals([]rolloutv1alpha1.GroupApproval{passed})); err != nil {
		return "", err
	}
	return "the group with " + rollout.Reference(passed.MandatoryDecisionGroup) + " of Placement " + passed.Placement + " is passed", nil
}
