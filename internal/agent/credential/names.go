package credential

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
)

// agentNameLength is the number of random characters of an agent's name.
const agentNameLength = 5

// Validate returns why the names cannot be used; nil if they can. The name of a cluster is the name of its namespace.
func (n Names) Validate() error {
	if faults := validation.IsDNS1123Label(n.Cluster); len(faults) > 0 {
		return fmt.Errorf("--cluster-name %q: must be the name of a namespace: %s", n.Cluster, strings.Join(faults, "; "))
	}
	if faults := validation.IsDNS1123Label(n.Agent); len(faults) > 0 {
		return fmt.Errorf("--agent-name %q: %s", n.Agent, strings.Join(faults, "; "))
	}
	return nil
}

// LoadWithNames returns the stored credential with the names to use: the given names, else the stored names, else new ones. New
// names are stored before they are used, so that a restarted agent has the same names.
func LoadWithNames(ctx context.Context, store Store, given Names) (Credential, error) {
	files, err := store.Load(ctx)
	if err != nil {
		return Credential{}, err //nolint:wrapcheck // the store names the file
	}
	stored, err := Parse(files)
	if err != nil {
		return Credential{}, err
	}
	names := Names{
		Cluster: cmp.Or(given.Cluster, stored.Cluster, string(uuid.NewUUID())),
		Agent:   cmp.Or(given.Agent, stored.Agent, rand.String(agentNameLength)),
	}
	if err := names.Validate(); err != nil {
		return Credential{}, err
	}
	if names == stored.Names {
		return stored, nil
	}
	stored.Names = names
	return stored, store.Save(ctx, Files{
		ClusterKey: []byte(names.Cluster),
		AgentKey:   []byte(names.Agent),
	}) //nolint:wrapcheck // the store names the file
}
