package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/checkout"
)

// expression is an expression of a workflow.
var expression = regexp.MustCompile(`\$\{\{ *(.*?) *\}\}`)

// workflow is the part of a workflow that the test runs.
type workflow struct {
	Jobs map[string]struct {
		If       string
		Outputs  map[string]string
		Strategy struct{ Matrix string }
		Steps    []struct {
			ID, Run string
			Env     map[string]string
		}
	}
}

// pipeline runs the jobs of examples/pipeline/workflow.yaml on a hub with the demo fleet.
type pipeline struct {
	workflow
	folder, path string
	// values are the values of expressions.
	values map[string]string
}

func newPipeline(t *testing.T) (*pipeline, *hubtest.Hub) {
	t.Helper()
	examples := checkout.Path(t, "examples")
	hub := hubtest.New(t, hubtest.Options{Manager: true, TaintUnjoined: true, Manifests: os.DirFS(filepath.Join(examples, "demo"))})
	out := &pipeline{folder: t.TempDir(), values: map[string]string{}}
	data, err := os.ReadFile(filepath.Join(examples, "pipeline", "workflow.yaml"))
	if err == nil {
		err = yaml.Unmarshal(data, &out.workflow)
	}
	if err != nil {
		t.Fatal(err)
	}
	kit.NoError(t, os.Symlink(examples, filepath.Join(out.folder, "examples")))
	plugin := kit.Must(hubtest.PluginBinary()).In(t)
	server := kit.Must(hubtest.Binary()).In(t)
	out.path = t.TempDir()
	kit.NoError(t, os.Symlink(plugin, filepath.Join(out.path, "kubectl-berth")))
	kit.NoError(t, os.WriteFile(filepath.Join(out.path, "kubectl"), []byte("#!/bin/sh\nexec "+server+" kubectl \"$@\"\n"), 0o700))
	kubeconfig := kit.Must(os.ReadFile(hub.Kubeconfig())).In(t)
	out.values["secrets.HUB_READER"] = string(kubeconfig)
	return out, hub
}

// evaluate replaces the expressions of a text.
func (p *pipeline) evaluate(t *testing.T, text string) string {
	t.Helper()
	return expression.ReplaceAllStringFunc(text, func(found string) string {
		key := expression.FindStringSubmatch(found)[1]
		value, known := p.values[key]
		if !known {
			t.Fatalf("the test has no value of %q", key)
		}
		return value
	})
}

// run runs the steps of a job, and returns what they print, their outputs by the ID of the step, and the exit code.
func (p *pipeline) run(t *testing.T, job string) (printed string, code int) {
	t.Helper()
	for _, step := range p.Jobs[job].Steps {
		if step.Run == "" {
			continue
		}
		if strings.Contains(step.Run, "${{") {
			t.Errorf("a step of %s pastes an expression into a script, which runs whatever it holds:\n%s", job, step.Run)
		}
		outputs := filepath.Join(t.TempDir(), "outputs")
		command := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", step.Run)
		command.Dir = p.folder
		command.Env = []string{"PATH=" + p.path + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GITHUB_OUTPUT=" + outputs}
		for name, value := range step.Env {
			command.Env = append(command.Env, name+"="+p.evaluate(t, value))
		}
		out, err := command.CombinedOutput()
		printed += string(out)
		if err != nil {
			return printed, command.ProcessState.ExitCode()
		}
		data, err := os.ReadFile(outputs)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			p.values["steps."+step.ID+".outputs."+name] = value
		}
	}
	return printed, 0
}

// storeMembers stands in for the members: a namespace of the hub for each cluster, with a context for it.
func (p *pipeline) storeMembers(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	config := kit.Must(clientcmd.LoadFromFile(hub.Kubeconfig())).In(t)
	own := config.Contexts[config.CurrentContext]
	to := kit.New(t, hub)
	for _, name := range []string{"eu-1", "eu-2", "eu-3", "us-1", "us-2"} {
		config.Contexts[name] = &clientcmdapi.Context{Cluster: own.Cluster, AuthInfo: own.AuthInfo, Namespace: name}
		to.MustCreateMissing(kit.Namespace(name))
	}
	data := kit.Must(clientcmd.Write(*config)).In(t)
	p.values["secrets.MEMBERS"] = string(data)
	kit.NoError(t, os.Mkdir(filepath.Join(p.folder, "app"), 0o700))
	app := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop, labels: {app: shop}}\n"
	kit.NoError(t, os.WriteFile(filepath.Join(p.folder, "app", "shop.yaml"), []byte(app), 0o600))
}
