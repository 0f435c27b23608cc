package argo_test

import (
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/argo"
	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
)

func run(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, stdin, args, clitest.WithoutClock(argo.NewCommand))
}

func TestArgoSetup(t *testing.T) {
	got := run(t, "", "argo", "setup", "web", "--repo", "https://git.example.com/shop.git", "--path", "deploy/web", "-n", "cd", "--poll", "1m")
	if got.Code != command.ExitOK || got.ErrOut != "" {
		t.Fatalf("got %+v", got)
	}
	clitest.Golden(t, "argo-setup.yaml", got.Out)
}

func TestMisuseOfArgo(t *testing.T) {
	t.Setenv("KUBECONFIG", "../testdata/kubeconfig.yaml")
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an unknown command": {[]string{"install"}, `unknown command "install"`},
		"no placement": {
			[]string{"setup"},
			"name one placement: argo setup PLACEMENT\nSee 'kubectl berth argo setup --help'.",
		},
		"two placements":                              {[]string{"setup", "a", "b"}, "name one placement"},
		"a placement that is none":                    {[]string{"setup", "a b"}, `the placement: "a b" is no name of an object`},
		"a placement with a name that no label holds": {[]string{"setup", strings.Repeat("a", 64)}, "is no value of a label"},
		"a namespace that is none":                    {[]string{"setup", "web", "-n", "A"}, `--namespace: "A" is no name of an object`},
		"a template as an account":                    {[]string{"setup", "web", "--service-account", "{{x}}"}, "--service-account"},
		"no repository":                               {[]string{"setup", "web", "--repo", ""}, `--repo: "" is no URL`},
		"a path outside": {
			[]string{"setup", "web", "--path", "/etc"},
			`--path: "/etc" is no path inside the repository`,
		},
		"to poll all the time":         {[]string{"setup", "web", "--poll", "0s"}, "--poll must be whole seconds, at least 1s"},
		"to poll in parts of seconds":  {[]string{"setup", "web", "--poll", "1500ms"}, "--poll must be whole seconds"},
		"an unknown form":              {[]string{"check", "-o", "yaml"}, `unknown output "yaml": use json, or leave it out`},
		"to copy nothing":              {[]string{"labels"}, "nothing to copy: name labels with --label, or claims with --claim"},
		"to copy a label that is none": {[]string{"labels", "--label", "a b"}, `"a b" is no key of a label`},
		"to copy a label of Argo CD":   {[]string{"labels", "--label", "argocd.argoproj.io/secret-type"}, "it cannot be copied"},
		"a hub that is not there":      {[]string{"check"}, "checking Argo CD: reading ApplicationSets"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", append([]string{"argo"}, tc.args...)...)
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q on standard error", got, tc.want)
			}
		})
	}
}
