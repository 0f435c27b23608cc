package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/membership/join"
)

const (
	// agentProgram is the name of the agent's binary.
	agentProgram = "berth-agent"
	// agentStopTimeout is how long the agent may take to stop.
	agentStopTimeout = 10 * time.Second
)

// runAgent runs the agent until it ends or is interrupted.
func (o *joinOptions) runAgent(ctx context.Context, bootstrap []byte) error {
	program, err := findAgent()
	if err != nil {
		return err
	}
	dir, err := o.folder()
	if err != nil {
		return err
	}
	member, err := o.memberKubeconfig()
	if err != nil {
		return err
	}
	files := map[string][]byte{join.BootstrapFile: bootstrap, "member.kubeconfig": member}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("writing the files of the agent: %w", err)
		}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // the agent ends with this command
	defer stop()
	args := append([]string{
		"--cluster-name=" + o.cluster, "--hub-kubeconfig-dir=" + filepath.Join(dir, join.HubFolder),
		"--bootstrap-kubeconfig=" + filepath.Join(dir, join.BootstrapFile), "--member-kubeconfig=" + filepath.Join(dir, "member.kubeconfig"),
		"--driver=" + o.driver, "--log-format=text",
	}, o.furtherFlags()...)
	agent := exec.CommandContext(ctx, program, args...) //nolint:gosec // the user names the program by the PATH
	agent.Stdout, agent.Stderr = o.streams.Out, o.streams.ErrOut
	agent.Cancel = func() error { return agent.Process.Signal(syscall.SIGTERM) }
	agent.WaitDelay = agentStopTimeout
	printer.Printf(o.streams.ErrOut, "Running the agent of %s, with its files in %s. Accept the cluster on the hub: kubectl berth accept %s\n",
		o.cluster, dir, o.cluster)
	if err := agent.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("running %s: %w", program, err)
	}
	return nil
}

// furtherFlags returns the flags of the agent that the user has given.
func (o *joinOptions) furtherFlags() []string {
	if o.reportUsage {
		return append([]string{join.ReportUsageFlag}, o.agentFlags...)
	}
	return o.agentFlags
}

// findAgent returns the path of the agent's program: beside this program, else in the PATH.
func findAgent() (string, error) {
	if own, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(own), agentProgram); isExecutable(beside) {
			return beside, nil
		}
	}
	found, err := exec.LookPath(agentProgram)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w; build it with make build, or install the agent with --image", agentProgram, err)
	}
	return found, nil
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// folder creates the folder of the agent, for its owner only.
func (o *joinOptions) folder() (string, error) {
	dir := o.dir
	if dir == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return "", fmt.Errorf("finding the configuration folder, give --dir: %w", err)
		}
		dir = filepath.Join(config, "berth", "agents", o.cluster)
	}
	if err := os.MkdirAll(filepath.Join(dir, join.HubFolder), 0o700); err != nil {
		return "", fmt.Errorf("creating the folder of the agent: %w", err)
	}
	return dir, nil
}

// memberKubeconfig returns the current context of the kubeconfig, without references to files.
func (o *joinOptions) memberKubeconfig() ([]byte, error) {
	raw, err := o.flags.Loader().RawConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the member: %w", err)
	}
	if err := errors.Join(clientcmdapi.MinifyConfig(&raw), clientcmdapi.FlattenConfig(&raw)); err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the member: %w", err)
	}
	out, err := clientcmd.Write(raw)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig of the member: %w", err)
	}
	return out, nil
}
