// Package demo shows what Berth decides for an example fleet, and what a tainted cluster changes.
//
// It stores the examples on a hub and runs commands of `kubectl berth` there. Each command is printed above its output. The
// output depends on the examples alone, except for times and ages.
package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/internal/scenario"
	"github.com/berth-project/berth/internal/cli"
)

const (
	taintKey, taintEffect = "example.com/maintenance", "NoSelect"
	// explanations follow the decisions within explainTimeout.
	explainTimeout, explainInterval = time.Minute, 50 * time.Millisecond
	// cacheDelay is how far the cache of the manager is behind the API server at most.
	cacheDelay = 500 * time.Millisecond
)

var errNoPlacement = errors.New("the examples have no Placement, so there is nothing to decide")

// demo prints to out. Its commands read the hub of the kubeconfig.
type demo struct {
	hub        *scenario.Hub
	kubeconfig string
	out        io.Writer
	clock      clock.PassiveClock
}

// Show stores the steps on a hub and prints what Berth decides.
func Show(ctx context.Context, out io.Writer, config *rest.Config, kubeconfig string, steps []scenario.Step) error {
	clock := clock.RealClock{}
	hub, err := scenario.Connect(config, clock)
	if err != nil {
		return err
	}
	d := &demo{hub: hub, kubeconfig: kubeconfig, out: out, clock: clock}
	took, err := d.decided(ctx, func() error {
		for _, step := range steps {
			if err := hub.Apply(ctx, step); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.print("Stored the examples one by one; all is decided after %s.\n", took); err != nil {
		return err
	}
	return errors.Join(d.showDecisions(ctx), d.showMaintenance(ctx))
}

// showDecisions prints the clusters, then for each placement the verdicts and its groups if it has several.
func (d *demo) showDecisions(ctx context.Context) error {
	var found struct {
		Placements []struct {
			Namespace, Name string
			Groups          int
		}
	}
	if err := d.read(ctx, &found, "get", "placements", "-A"); err != nil {
		return err
	}
	if len(found.Placements) == 0 {
		return errNoPlacement
	}
	if err := d.show(ctx, "", "get", "clusters"); err != nil {
		return err
	}
	for _, placement := range found.Placements {
		if err := d.explain(ctx, placement.Namespace, placement.Name); err != nil {
			return err
		}
		if placement.Groups > 1 {
			if err := d.show(ctx, "", "get", "groups", placement.Name, "-n", placement.Namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// explain waits until the manager explains the stored decisions of a placement, then prints the explanation.
func (d *demo) explain(ctx context.Context, namespace, name string) error {
	args := []string{"explain", "placement", name, "-n", namespace}
	err := wait.PollUntilContextTimeout(ctx, explainInterval, explainTimeout, true, func(ctx context.Context) (bool, error) {
		var explained struct{ Stale string }
		err := d.read(ctx, &explained, args...)
		return explained.Stale == "", err
	})
	if err != nil && !wait.Interrupted(err) {
		return err
	}
	return d.show(ctx, "", args...)
}

// showMaintenance taints the cluster that most placements selected, and removes the taint again.
func (d *demo) showMaintenance(ctx context.Context) error {
	name, err := d.busiestCluster(ctx)
	if err != nil || name == "" {
		return err
	}
	client := d.hub.Client().Resource(scenario.Clusters)
	cluster, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading cluster %s: %w", name, err)
	}
	before, _, _ := unstructured.NestedSlice(cluster.Object, "spec", "taints")
	after := append(slices.Clone(before), map[string]any{"key": taintKey, "effect": taintEffect})
	if err := unstructured.SetNestedSlice(cluster.Object, after, "spec", "taints"); err != nil {
		return fmt.Errorf("tainting cluster %s: %w", name, err)
	}
	manifest, err := cluster.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encoding cluster %s: %w", name, err)
	}
	if err := d.print("\nPreview: %s gets the taint %s:%s.\n", name, taintKey, taintEffect); err != nil {
		return err
	}
	if err := d.show(ctx, string(manifest), "diff", "-f", "-"); err != nil {
		return err
	}
	for _, change := range []struct {
		text   string
		taints []any
	}{{"gets the taint", after}, {"loses the taint", before}} {
		took, err := d.decided(ctx, func() error { return d.setTaints(ctx, name, change.taints) })
		if err != nil {
			return err
		}
		if err := d.print("\n%s %s; all is decided after %s.\n", name, change.text, took); err != nil {
			return err
		}
		if err := d.show(ctx, "", "tree", "cluster", name); err != nil {
			return err
		}
	}
	return nil
}

// busiestCluster returns the cluster that most placements selected, the first by name of several; "" without a selected cluster.
func (d *demo) busiestCluster(ctx context.Context) (string, error) {
	var found struct {
		Clusters []struct {
			Name       string
			Placements int
		}
	}
	if err := d.read(ctx, &found, "get", "clusters"); err != nil {
		return "", err
	}
	name, most := "", 0
	for _, cluster := range found.Clusters {
		if cluster.Placements > most {
			name, most = cluster.Name, cluster.Placements
		}
	}
	return name, nil
}

func (d *demo) setTaints(ctx context.Context, cluster string, taints []any) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": taints}})
	if err != nil {
		return fmt.Errorf("encoding the taints of cluster %s: %w", cluster, err)
	}
	if _, err := d.hub.Client().Resource(scenario.Clusters).Patch(ctx, cluster, types.MergePatchType, patch, metav1.PatchOptions{}); err !=
		nil {
		return fmt.Errorf("changing the taints of cluster %s: %w", cluster, err)
	}
	return nil
}

// decided makes a change, waits until Berth has decided, and returns how long both took.
func (d *demo) decided(ctx context.Context, change func() error) (string, error) {
	began := d.clock.Now()
	if err := change(); err != nil {
		return "", err
	}
	if err := d.hub.WaitUntilDecided(ctx); err != nil {
		return "", err
	}
	took := d.clock.Since(began)
	if took < time.Second {
		return fmt.Sprintf("%d ms", took.Milliseconds()), nil
	}
	return fmt.Sprintf("%.1f s", took.Seconds()), nil
}

// show prints a command of `kubectl berth` and its output.
func (d *demo) show(ctx context.Context, stdin string, args ...string) error {
	if err := d.print("\n$ kubectl berth %s\n", strings.Join(args, " ")); err != nil {
		return err
	}
	return d.run(ctx, d.out, stdin, args...)
}

// read decodes the JSON output of a command.
func (d *demo) read(ctx context.Context, into any, args ...string) error {
	var out bytes.Buffer
	if err := d.run(ctx, &out, "", append(slices.Clone(args), "-o", "json")...); err != nil {
		return err
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		return fmt.Errorf("decoding the output of kubectl berth %s: %w", args[0], err)
	}
	return nil
}

func (d *demo) run(ctx context.Context, out io.Writer, stdin string, args ...string) error {
	var errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: out, ErrOut: &errOut}
	if cli.Run(ctx, append(slices.Clone(args), "--kubeconfig", d.kubeconfig), streams, d.clock) == cli.ExitRefused {
		return fmt.Errorf("running kubectl berth %s: %s", args[0], strings.TrimSpace(cmp.Or(errOut.String(), "unknown error")))
	}
	return nil
}

func (d *demo) print(format string, args ...any) error {
	if _, err := fmt.Fprintf(d.out, format, args...); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}
