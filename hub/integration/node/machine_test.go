//go:build slow

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/kube/process"
)

const (
	// namespace is the network namespace of all processes, cgroup the control group of all containers.
	namespace = "berth-node"
	cgroup    = "berth-node"
	// address is that of the API server and of the node, hostAddress that of the machine beside it.
	address     = "10.99.0.1"
	hostAddress = "10.99.0.2"
	cgroups     = "/sys/fs/cgroup"
	// commandTimeout bounds one command, startTimeout one start of a process or a pod, cleanupTimeout one step of the clean-up.
	commandTimeout = 5 * time.Minute
	cleanupTimeout = time.Minute
	startTimeout   = 4 * time.Minute
	pollInterval   = 200 * time.Millisecond
	outputLimit    = 1 << 20
)

// machine is this machine as a node: a network namespace, a control group and a folder. It leaves nothing behind.
type machine struct {
	t *testing.T
	// packages has the unpacked packages, folder everything that the processes write.
	packages, folder string
	processes        map[string]*process.Process
	// order has the names of the processes as they were started.
	order []string
}

// packagesFolder returns where `make bin/node` unpacks containerd and its kind.
func packagesFolder() string { return filepath.Join("..", "..", "..", "bin", "node") }

// requireMachine skips the test where no node can run, with the reason.
func requireMachine(t *testing.T) {
	t.Helper()
	why := ""
	if os.Geteuid() != 0 {
		why = "it needs root"
	} else if _, err := os.Stat(filepath.Join(packagesFolder(), "usr", "bin", "containerd")); err != nil {
		why = "it needs containerd: make bin/node"
	} else if printed, err := exec.CommandContext(t.Context(), "ip", "netns", "list").CombinedOutput(); err != nil {
		why = fmt.Sprintf("it needs network namespaces: %v: %s", err, printed)
	}
	if why != "" {
		t.Skip("NO CONTAINER RUNS IN THIS TEST RUN, the test on a real node is skipped: " + why)
	}
}

// newMachine prepares the machine. It waits for other tests on a node to end.
func newMachine(t *testing.T) *machine {
	t.Helper()
	lock := kit.Must(os.OpenFile(filepath.Join(os.TempDir(), namespace+".lock"), os.O_CREATE|os.O_RDWR, 0o600)).In(t)
	kit.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	t.Cleanup(func() { _ = lock.Close() }) // closing drops the lock
	packages := kit.Must(filepath.Abs(packagesFolder())).In(t)
	folder, err := os.MkdirTemp("", "node-") //nolint:usetesting // sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, packages: packages, folder: folder, processes: map[string]*process.Process{}}
	m.removeNamespaces() // of a run that was killed
	t.Cleanup(m.stop)
	m.addNetwork()
	m.addCgroups()
	return m
}

func (m *machine) path(elements ...string) string {
	return filepath.Join(append([]string{m.folder}, elements...)...)
}

// addNetwork makes a network namespace that this machine reaches by a pair of virtual interfaces.
func (m *machine) addNetwork() {
	m.t.Helper()
	m.mustRun("ip", "netns", "add", namespace)
	m.mustRun("ip", "link", "add", "berth-host", "type", "veth", "peer", "name", "node0", "netns", namespace)
	m.mustRun("ip", "addr", "add", hostAddress+"/30", "dev", "berth-host")
	m.mustRun("ip", "link", "set", "berth-host", "up")
	for _, args := range [][]string{
		{"ip", "link", "set", "lo", "up"},
		{"ip", "addr", "add", address + "/30", "dev", "node0"},
		{"ip", "link", "set", "node0", "up"},
		{"ip", "route", "add", "default", "via", hostAddress}, // the kubelet requires a default route
	} {
		m.mustRunInside(args...)
	}
	m.mustRunInside("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
}

// hierarchies returns the roots of the control groups: one for each controller in version 1, one in version 2.
func hierarchies(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers")); err == nil {
		return []string{cgroups}
	}
	var out []string
	for _, name := range []string{
		"cpu", "cpuacct", "cpuset", "memory", "pids", "blkio", "devices", "freezer", "hugetlb", "systemd",
		"unified",
	} {
		root := filepath.Join(cgroups, name)
		if info, err := os.Stat(root); err == nil && info.IsDir() {
			out = append(out, root)
		}
	}
	return out
}

// addCgroups makes the control group under which the kubelet makes those of pods.
func (m *machine) addCgroups() {
	m.t.Helper()
	for _, root := range hierarchies(m.t) {
		group := filepath.Join(root, cgroup)
		kit.NoError(m.t, os.MkdirAll(group, 0o755))
		switch {
		case root == cgroups:
			m.writeFile(filepath.Join(group, "cgroup.subtree_control"), "+cpu +cpuset +memory +pids")
		case filepath.Base(root) == "cpuset": // a group without processors takes no process
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				content := kit.Must(os.ReadFile(filepath.Join(root, file))).In(m.t)
				m.writeFile(filepath.Join(group, file), string(content))
			}
		}
	}
}

func (m *machine) writeFile(path, content string) {
	m.t.Helper()
	kit.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	kit.NoError(m.t, os.WriteFile(path, []byte(content), 0o600))
}

// withPackages returns a command that finds the unpacked packages.
func (m *machine) withPackages(args ...string) []string {
	return append([]string{
		"env", "PATH=" + strings.Join([]string{m.packages + "/usr/bin", m.packages + "/usr/sbin", os.Getenv("PATH")}, ":"),
		"LD_LIBRARY_PATH=" + m.packages + "/usr/lib/x86_64-linux-gnu:" + m.packages + "/usr/lib/aarch64-linux-gnu",
	}, args...)
}

// start starts a program in the network namespace. It ends with the test.
func (m *machine) start(name, program string, args ...string) {
	m.t.Helper()
	command := append([]string{"--net=/run/netns/" + namespace}, m.withPackages(append([]string{program}, args...)...)...)
	started := kit.Must(process.Start(m.t.Context(), process.NewOutput(outputLimit, ""), "nsenter", command...)).In(m.t)
	if m.processes[name] == nil {
		m.order = append(m.order, name)
	}
	m.processes[name] = started
}

// stopProcess stops a program. It may be started again.
func (m *machine) stopProcess(name string) {
	m.t.Helper()
	if !m.processes[name].Stop() {
		m.t.Errorf("%s did not stop in time", name)
	}
}

// run runs a command and returns its output.
func (m *machine) run(args ...string) (string, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(m.t.Context()), commandTimeout) // it also cleans up, after the context of the test
	defer stop()
	args = m.withPackages(args...)
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	var printed bytes.Buffer
	command.Stdout, command.Stderr = &printed, &printed
	if err := command.Run(); err != nil {
		return printed.String(), fmt.Errorf("%s: %w: %s", strings.Join(args[3:], " "), err, printed.String())
	}
	return printed.String(), nil
}

func (m *machine) mustRun(args ...string) string {
	m.t.Helper()
	printed := kit.Must(m.run(args...)).In(m.t)
	return printed
}

// mustRunInside runs a command in the network namespace.
func (m *machine) mustRunInside(args ...string) string {
	m.t.Helper()
	return m.mustRun(append([]string{"nsenter", "--net=/run/netns/" + namespace}, args...)...)
}

// await waits until a condition holds, and fails with its last error.
func (m *machine) await(what string, holds func(ctx context.Context) error) {
	m.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(m.t.Context(), pollInterval, startTimeout, true, func(ctx context.Context) (bool, error) {
		for name, each := range m.processes {
			if !each.Running() {
				return false, fmt.Errorf("%s has ended: %w", name, each.ExitError())
			}
		}
		last = holds(ctx)
		return last == nil, nil
	})
	if err != nil {
		m.t.Fatalf("waiting for %s: %v: %v", what, err, last)
	}
}

// stop ends everything that the test started, and fails where something is left.
func (m *machine) stop() {
	m.t.Helper()
	m.stopContainers()
	for _, name := range slices.Backward(m.order) {
		if !m.processes[name].Stop() {
			m.t.Errorf("%s did not stop in time", name)
		}
		if m.t.Failed() {
			printed := m.processes[name].Output().String()
			m.t.Logf("the end of the output of %s:\n%s", name, printed[max(0, len(printed)-1500):])
		}
	}
	m.unmount()
	m.removeNamespaces()
	m.removeCgroups()
	m.eventually("removing the folder of the node", func() error { return os.RemoveAll(m.folder) })
	m.requireClean()
}

// stopContainers stops the kubelet, which would start them again, and kills all containers.
func (m *machine) stopContainers() {
	if m.processes["containerd"] == nil {
		return
	}
	if kubelet := m.processes["kubelet"]; kubelet != nil {
		kubelet.Stop()
	}
	m.eventually("stopping the containers", func() error {
		tasks, err := m.run(m.containerd("tasks", "list", "-q")...)
		if err != nil {
			return err
		}
		var errs []error
		for task := range strings.FieldsSeq(tasks) {
			_, err := m.run(m.containerd("tasks", "delete", "--force", task)...)
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}

// eventually repeats a step of the clean-up until it succeeds: a container or a process may be ending by itself meanwhile.
func (m *machine) eventually(what string, step func() error) {
	m.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(context.WithoutCancel(m.t.Context()), pollInterval, cleanupTimeout, true,
		func(context.Context) (bool, error) {
			last = step()
			return last == nil, nil
		})
	if err != nil {
		m.t.Errorf("%s: %v: %v", what, err, last)
	}
}

// containerd returns a command for the containers of the kubelet.
func (m *machine) containerd(args ...string) []string {
	return append([]string{"ctr", "--address", m.path("containerd.sock"), "--namespace", "k8s.io"}, args...)
}

func (m *machine) mustContainerd(args ...string) string {
	m.t.Helper()
	return m.mustRun(m.containerd(args...)...)
}

// mounts returns what is mounted in the folder, the last first.
func (m *machine) mounts() []string {
	content, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		m.t.Error(err)
	}
	var out []string
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); strings.HasPrefix(fields[1], m.folder+"/") {
			out = append(out, fields[1])
		}
	}
	slices.Reverse(out)
	return out
}

func (m *machine) unmount() {
	for _, path := range m.mounts() {
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
			m.t.Errorf("unmounting %s: %v", path, err)
		}
	}
}

// removeNamespaces removes the network namespace, and with it the virtual interfaces. There may be none.
func (m *machine) removeNamespaces() {
	if _, err := os.Stat("/run/netns/" + namespace); err == nil {
		if _, err := m.run("ip", "netns", "delete", namespace); err != nil {
			m.t.Error(err)
		}
	}
	if _, err := os.Stat("/sys/class/net/berth-host"); err == nil {
		_, _ = m.run("ip", "link", "delete", "berth-host") // the kernel may have been faster
	}
}

// removeCgroups removes the control groups, the innermost first. The kernel may still count a container that has ended.
func (m *machine) removeCgroups() {
	for _, root := range hierarchies(m.t) {
		var groups []string
		_ = filepath.WalkDir(filepath.Join(root, cgroup), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				groups = append(groups, path)
			}
			return nil // a group that is gone needs no removal
		})
		for _, group := range slices.Backward(groups) {
			m.eventually("removing the control group "+group, func() error {
				if err := os.Remove(group); !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				return nil
			})
		}
	}
}

// requireClean requires that no mount, namespace, control group, folder or process of the node is left.
func (m *machine) requireClean() {
	for _, path := range m.mounts() {
		m.t.Errorf("%s is still mounted", path)
	}
	left := []string{"/run/netns/" + namespace, "/sys/class/net/berth-host", m.folder}
	for _, root := range hierarchies(m.t) {
		left = append(left, filepath.Join(root, cgroup))
	}
	for _, path := range left {
		if _, err := os.Stat(path); err == nil {
			m.t.Errorf("%s is left", path)
		}
	}
	m.eventually("ending the processes of the node", func() error {
		commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		var errs []error
		for _, file := range commands {
			if content, err := os.ReadFile(file); err == nil && bytes.Contains(content, []byte(m.folder)) {
				errs = append(errs, fmt.Errorf("%s is left: %s: %w", file, bytes.ReplaceAll(content, []byte{0}, []byte{' '}), errNotYet))
			}
		}
		return errors.Join(errs...)
	})
}
