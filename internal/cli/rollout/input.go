package rollout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

// maxInput is how large a file with a strategy or with statuses may be.
const maxInput = 8 << 20

// readStrategy reads and validates a strategy.
func readStrategy(path string) (*clusterv1alpha1.RolloutStrategy, error) {
	strategy := &clusterv1alpha1.RolloutStrategy{}
	if err := readYAML(path, strategy); err != nil {
		return nil, fmt.Errorf("reading the strategy: %w", err)
	}
	if equality.Semantic.DeepEqual(strategy, &clusterv1alpha1.RolloutStrategy{}) {
		return nil, fmt.Errorf("strategy %s is empty: give its type, All, Progressive or ProgressivePerGroup; type: All starts every "+
			"cluster at once", path)
	}
	var faults []string
	for _, fault := range rollout.Validate(strategy, nil) {
		faults = append(faults, fault.Error())
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s in strategy %s:\n%s", phrase.Count(len(faults), "fault"), path, printer.Indent(strings.Join(faults, "\n")))
	}
	return strategy, nil
}

// statusEntry is how far one cluster has come, as a file has it.
type statusEntry struct {
	Cluster string        `json:"cluster"`
	State   rollout.State `json:"state"`
	Since   *metav1.Time  `json:"since,omitempty"`
}

// readStatuses reads the progress of clusters; nil without a file.
func readStatuses(path string) ([]rollout.Status, error) {
	if path == "" {
		return nil, nil
	}
	var entries []statusEntry
	if err := readYAML(path, &entries); err != nil {
		return nil, fmt.Errorf("reading the status: %w", err)
	}
	var faults []string
	seen := map[string]bool{}
	out := make([]rollout.Status, 0, len(entries))
	for i, entry := range entries {
		switch {
		case entry.Cluster == "":
			faults = append(faults, fmt.Sprintf("[%d].cluster: is empty; name the cluster", i))
		case seen[entry.Cluster]:
			faults = append(faults, fmt.Sprintf("[%d].cluster: %s is given twice; leave one out", i, entry.Cluster))
		case !slices.Contains(rollout.States(), entry.State):
			faults = append(faults, fmt.Sprintf("[%d].state: %q is unknown; use ToApply, Progressing, Succeeded, Failed, TimedOut or Skip", i,
				entry.State))
		}
		seen[entry.Cluster] = true
		status := rollout.Status{Cluster: entry.Cluster, State: entry.State}
		if entry.Since != nil {
			status.Since = entry.Since.Time
		}
		out = append(out, status)
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s in status %s:\n%s", phrase.Count(len(faults), "fault"), path, printer.Indent(strings.Join(faults, "\n")))
	}
	return out, nil
}

func readYAML(path string, into any) error {
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; check the path", err)
	}
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	if len(data) > maxInput {
		return fmt.Errorf("%s is larger than %d bytes; is it the right file?", path, maxInput)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		return fmt.Errorf("%s cannot be understood, check its fields: %w", path, err)
	}
	return nil
}
