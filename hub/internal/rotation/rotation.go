package rotation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// AllClusters in place of a name strands every agent.
	AllClusters = "*"

	clustersPath = "/apis/" + clusterv1.GroupName + "/v1/managedclusters"
	readTimeout  = 30 * time.Second
	// maxNamed is the number of clusters that an error names.
	maxNamed = 20
)

var (
	errPending     = errors.New("a step is already prepared: restart the hub, which takes it")
	errNotReplaced = errors.New("the hub has one CA only: replace it first with `berth-hub ca rotate`")
	errNotDropped  = errors.New("the former CA is still trusted: drop it first with `berth-hub ca drop`")
	errStranded    = errors.New("agents would no longer reach the hub")
)

// Report is the state of the rotation of a hub that runs.
type Report struct {
	State
	// Stragglers are the clusters whose agents may not trust the signing CA once the former one is dropped. Outside a rotation they
	// are those whose agents are not known to follow a rotation.
	Stragglers []registration.Straggler
}

// Inspect reads the state of the hub with a data folder. The hub must run.
func Inspect(ctx context.Context, dataDir string) (Report, error) {
	state, err := Read(filepath.Join(dataDir, datadir.PKIFolder))
	if err != nil {
		return Report{}, err
	}
	hashes, err := state.followed(filepath.Join(dataDir, datadir.PKIFolder))
	if err != nil {
		return Report{}, err
	}
	clusters, err := readClusters(ctx, filepath.Join(dataDir, datadir.AdminKubeconfig))
	if err != nil {
		return Report{}, fmt.Errorf("reading the clusters of the hub, which must run, to check its agents: %w", err)
	}
	stragglers := registration.Stragglers(clusters, hashes...)
	if state.FormerTokenKey != "" && state.Replaced != nil {
		stragglers = registration.WithOldTokens(stragglers, clusters, *state.Replaced)
	}
	return Report{State: state, Stragglers: stragglers}, nil
}

// followed returns the hashes of the bundles of agents that do not need the former CA; none outside a rotation.
func (s State) followed(folder string) ([]string, error) {
	if s.Former == "" {
		return nil, nil //nolint:nilnil // no hash is needed
	}
	var out []string
	var bundle []byte
	for _, name := range []string{s.Signing, s.Former} {
		authority, err := os.ReadFile(filepath.Join(folder, name+".crt"))
		if err != nil {
			return nil, fmt.Errorf("reading a CA of the hub: %w", err)
		}
		bundle = append(bundle, authority...)
		hash, err := registration.CABundleHash(bundle)
		if err != nil {
			return nil, fmt.Errorf("reading CA %s of the hub: %w", name, err)
		}
		out = append(out, hash)
	}
	return out, nil
}

// readClusters reads the clusters of a hub; none of a hub without the definition of clusters.
func readClusters(ctx context.Context, kubeconfig string) ([]clusterv1.ManagedCluster, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the field
	}
	body, err := client.RESTClient().Get().AbsPath(clustersPath).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller wraps it
	}
	var list clusterv1.ManagedClusterList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("decoding the clusters: %w", err)
	}
	return list.Items, nil
}

// PrepareReplace lets the next start of the hub replace the CA. No agent is cut off by it, because the former CA certifies the
// new one.
func (r Report) PrepareReplace(dataDir string) error {
	switch {
	case r.Next != "":
		return errPending
	case r.Former != "":
		return errNotDropped
	}
	return r.prepare(dataDir, Replace)
}

// PrepareDrop lets the next start of the hub drop the former CA. It refuses to cut off an agent whose cluster is not named;
// AllClusters names every cluster.
func (r Report) PrepareDrop(dataDir string, stranded []string) error {
	switch {
	case r.Next != "":
		return errPending
	case r.Former == "":
		return errNotReplaced
	}
	var left []string
	for _, straggler := range r.Stragglers {
		if !slices.Contains(stranded, straggler.Cluster) && !slices.Contains(stranded, AllClusters) {
			left = append(left, straggler.Cluster)
		}
	}
	if len(left) > 0 {
		names := strings.Join(left[:min(len(left), maxNamed)], ", ")
		if len(left) > maxNamed {
			names += ", ..."
		}
		return fmt.Errorf("dropping CA %s: %w, of %d clusters: %s; wait until they follow, see `berth-hub ca status`, "+
			"or give up each of them with --strand", r.Former, errStranded, len(left), names)
	}
	return r.prepare(dataDir, Drop)
}

func (r Report) prepare(dataDir string, step Step) error {
	state := r.State
	state.Next = step
	return state.write(filepath.Join(dataDir, datadir.PKIFolder))
}
