//go:build slow

package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/hub/internal/doctest"
	"github.com/berth-project/berth/hub/internal/scenario"
	"github.com/berth-project/berth/internal/checkout"
)

const (
	// storyTimeout is for Berth, and for the API server, where new roles take effect with a delay.
	storyTimeout = 15 * time.Second
	// kubectl removes "--as NAME" from a command, and uses the certificate of that user.
	kubectl = `#!/usr/bin/env bash
set -u
arguments=()
while (($#)); do
  if [[ $1 == --as ]]; then
    export KUBECONFIG="$PEOPLE/$2"
    shift 2
  else
    arguments+=("$1")
    shift
  fi
done
exec "$BERTH_HUB" kubectl "${arguments[@]}"
`
)

var people = regexp.MustCompile(`--as ([a-z]+)`)

// TestStories runs the commands of every README in the folder tenancy, and compares their output. It repeats a command until the output
// is as expected, because changes take effect with a delay.
func TestStories(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(checkout.Path(t, "examples"), "tenancy", "*", "README.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no story: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) { runStory(t, file, filepath.Dir(file)) })
	}
}

// runStory runs the commands of a page in a folder, and cleans the hub.
func runStory(t *testing.T, file, folder string) {
	t.Helper()
	text := kit.Must(os.ReadFile(file)).In(t)
	before := grants(t)
	runner := doctest.NewRunner(doctest.Options{Folder: folder, Environment: environment(t, string(text)), Limit: storyTimeout, Once: *update})
	printed := kit.Must(runner.Run(t.Context(), string(text))).In(t)
	if *update {
		kit.NoError(t, os.WriteFile(file, []byte(printed), 0o600))
	} else if diff := cmp.Diff(string(text), printed); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
	for name := range grants(t).Difference(before) { // the users of the next story have the same names
		if err := shared.Client(t).RbacV1().ClusterRoleBindings().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	hub := kit.Must(scenario.Connect(shared.Config(), clock.RealClock{})).In(t)
	deleteAll(t, hub)
}

// grants returns the names of all ClusterRoleBindings.
func grants(t *testing.T) sets.Set[string] {
	t.Helper()
	list := kit.Must(shared.Client(t).RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})).In(t)
	out := sets.New[string]()
	for _, binding := range list.Items {
		out.Insert(binding.Name)
	}
	return out
}

// environment returns the environment of the commands of a page, with kubectl and a kubeconfig for each user on the page.
func environment(t *testing.T, text string) []string {
	t.Helper()
	binary := kit.Must(hubtest.Binary()).In(t)
	dir := t.TempDir()
	for _, found := range people.FindAllStringSubmatch(text, -1) {
		kit.NoError(t, writeKubeconfig(filepath.Join(dir, found[1]), shared.ConfigFor(t, found[1])))
	}
	kit.NoError(t, os.WriteFile(filepath.Join(dir, "kubectl"), []byte(kubectl), 0o700))
	return append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "KUBECONFIG="+shared.Kubeconfig(), "PEOPLE="+dir, "BERTH_HUB="+binary)
}

func writeKubeconfig(path string, config *rest.Config) error {
	file := api.NewConfig()
	file.Clusters["hub"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}
	file.AuthInfos["user"] = &api.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["hub"] = &api.Context{Cluster: "hub", AuthInfo: "user"}
	file.CurrentContext = "hub"
	return clientcmd.WriteToFile(*file, path)
}
