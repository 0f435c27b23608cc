package decided

import (
	"errors"
	"fmt"
	"io"
	"strings"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// placeholder stands for the name of the cluster in the name of a context.
const placeholder = "{cluster}"

// CheckContextName checks a name of contexts.
func CheckContextName(name string) error {
	switch {
	case !strings.Contains(name, placeholder):
		return errors.New("--context-name must have " + placeholder + ", which stands for the name of the cluster")
	case strings.ContainsAny(name, "\t\n\r"):
		return errors.New("--context-name must be one line without tabs")
	default:
		return nil
	}
}

// WriteContexts writes a line for each cluster: its name, a tab, and the context of a kubeconfig with the name. It writes nothing if
// a cluster has no context. It writes nothing either if a context leads to the hub: a script would then change the hub in place of a
// member.
func (c *Clusters) WriteContexts(w io.Writer, config clientcmdapi.Config, hub, name string) error {
	var missing, ofHub []string
	for _, cluster := range c.names() {
		switch context, found := config.Contexts[contextName(name, cluster)]; {
		case !found:
			missing = append(missing, cluster)
		case isHub(config, hub, context):
			ofHub = append(ofHub, cluster)
		}
	}
	if len(ofHub) > 0 {
		return fmt.Errorf("the context is of the hub, not of the cluster: %s; give the contexts of members other names, with --context-name",
			phrase.Join(ofHub, phrase.MaxNames))
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s without a context %q in the kubeconfig: %s; add them, for example with a second file in KUBECONFIG, or name "+
			"them with --context-name",
			phrase.Count(len(missing), "cluster"), name, phrase.Join(missing, phrase.MaxNames))
	}
	for _, cluster := range c.names() {
		printer.Printf(w, "%s\t%s\n", cluster, contextName(name, cluster))
	}
	return nil
}

func contextName(name, cluster string) string { return strings.ReplaceAll(name, placeholder, cluster) }

// isHub reports whether a context has the server of the context that the hub is read with.
func isHub(config clientcmdapi.Config, hub string, context *clientcmdapi.Context) bool {
	own := config.Contexts[hub]
	if own == nil || config.Clusters[own.Cluster] == nil || config.Clusters[context.Cluster] == nil {
		return false
	}
	return config.Clusters[own.Cluster].Server == config.Clusters[context.Cluster].Server
}
