// Package programs runs the parts of Kubernetes as programs of another release, in place of the parts that a hub links.
//
// It owns the processes and the differences between the flags of releases. Package hub owns the rest of the hub, as ever. It is for
// tests of compatibility, and part of no release of Berth. The invariant: no program outlives the process that started it.
package programs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/berth-project/berth/hub"
	"github.com/berth-project/berth/hub/embed"
	"github.com/berth-project/berth/internal/kube/process"
)

// The names of the programs in their folder. Only the API server must be there: the hub runs the part that it links in place of another
// program that is missing.
const (
	apiServer   = "kube-apiserver"
	controllers = "kube-controller-manager"
	scheduler   = "kube-scheduler"
	etcdServer  = "etcd"
)

const (
	// maxOutputBytes is how much of the output of a program an error contains.
	maxOutputBytes = 64 << 10
	versionTimeout = time.Minute
	pollInterval   = 50 * time.Millisecond
	loopback       = "127.0.0.1"
)

var errStopTimeout = errors.New("still running, so it was killed")

// Release is the programs of a release of Kubernetes. It implements hub.Components.
type Release struct {
	folder   string
	versions embed.Versions
	number   *version.Version
}

var _ hub.Components = &Release{}

// Open returns the programs of a folder. It runs some of them for their versions.
func Open(ctx context.Context, folder string) (*Release, error) {
	out := &Release{folder: folder, versions: embed.LinkedVersions()}
	printed, err := out.versionOf(ctx, apiServer)
	if err != nil {
		return nil, err
	}
	out.versions.Kubernetes = strings.TrimSpace(strings.TrimPrefix(printed, "Kubernetes"))
	if out.number, err = version.ParseSemantic(out.versions.Kubernetes); err != nil {
		return nil, fmt.Errorf("reading the version of %s in %s: %w", apiServer, folder, err)
	}
	if !out.has(etcdServer) {
		return out, nil
	}
	if printed, err = out.versionOf(ctx, etcdServer); err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(printed, "\n")
	out.versions.Etcd = "v" + strings.TrimSpace(strings.TrimPrefix(first, "etcd Version:"))
	return out, nil
}

// has returns whether the folder has a program.
func (r *Release) has(program string) bool {
	_, err := os.Stat(filepath.Join(r.folder, program))
	return err == nil
}

func (r *Release) versionOf(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	printed, err := exec.CommandContext(ctx, filepath.Join(r.folder, program), //nolint:gosec // the caller chooses the folder
		"--version").Output()
	if err != nil {
		return "", fmt.Errorf("reading the version of %s in %s; `make slow` builds it: %w", program, r.folder, err)
	}
	return string(printed), nil
}

// before returns whether the release is before a minor version of Kubernetes 1.
func (r *Release) before(minor uint) bool { return r.number.Major() == 1 && r.number.Minor() < minor }

// run runs a program until ctx ends.
func (r *Release) run(ctx context.Context, program string, flags ...string) error {
	child, err := process.Start(ctx, process.NewOutput(maxOutputBytes, ""), filepath.Join(r.folder, program), flags...)
	if err != nil {
		return fmt.Errorf("running Kubernetes %s: %w", r.versions.Kubernetes, err)
	}
	select {
	case <-child.Done():
		return child.ExitError()
	case <-ctx.Done():
		if !child.Stop() {
			return fmt.Errorf("stopping %s: %w", program, errStopTimeout)
		}
		return nil
	}
}

// Versions implements hub.Components.
func (r *Release) Versions() embed.Versions { return r.versions }

// RunAPIServer implements hub.Components. The further checks of readiness are left out. The program opens the listener again.
func (r *Release) RunAPIServer(ctx context.Context, opts embed.APIServerOptions) error {
	address := opts.Listener.Addr().String()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("reading the address of the API server: %w", err)
	}
	if err := opts.Listener.Close(); err != nil {
		return fmt.Errorf("closing the listener for the API server: %w", err)
	}
	return r.run(ctx, apiServer, r.apiServerFlags(opts.Flags(), host, port)...)
}

// apiServerFlags returns the flags of the hub that the release has, and its address.
func (r *Release) apiServerFlags(flags []string, host, port string) []string {
	var out []string
	for _, flag := range flags {
		// Anonymous requests could not be limited to paths.
		if strings.HasPrefix(flag, "--authentication-config=") && r.before(32) {
			flag = "--anonymous-auth=true"
		}
		out = append(out, flag)
	}
	return append(out, "--bind-address="+host, "--secure-port="+port)
}

// RunControllers implements hub.Components.
func (r *Release) RunControllers(ctx context.Context, opts embed.ControllerOptions) error {
	if !r.has(controllers) {
		return hub.Linked{}.RunControllers(ctx, opts)
	}
	return r.run(ctx, controllers, opts.Flags()...)
}

// RunScheduler implements hub.Components.
func (r *Release) RunScheduler(ctx context.Context, kubeconfig string) error {
	if !r.has(scheduler) {
		return hub.Linked{}.RunScheduler(ctx, kubeconfig)
	}
	return r.run(ctx, scheduler, embed.SchedulerFlags(kubeconfig)...)
}

// StartEtcd implements hub.Components.
func (r *Release) StartEtcd(ctx context.Context, opts embed.EtcdOptions, logs embed.Logs) (hub.Etcd, error) {
	if !r.has(etcdServer) {
		return hub.Linked{}.StartEtcd(ctx, opts, logs)
	}
	client, err := freeAddress(ctx, opts.Port)
	if err != nil {
		return nil, err
	}
	peer, err := freeAddress(ctx, 0)
	if err != nil {
		return nil, err
	}
	child, err := process.Start(ctx, process.NewOutput(maxOutputBytes, ""), filepath.Join(r.folder, etcdServer),
		etcdFlags(opts, client, peer)...)
	if err != nil {
		return nil, fmt.Errorf("starting etcd %s: %w", r.versions.Etcd, err)
	}
	out := &etcd{Process: child, endpoint: "https://" + client}
	if err := out.awaitServing(ctx, opts); err != nil {
		out.Kill()
		return nil, err
	}
	return out, nil
}

// etcdFlags are those of the linked etcd. A program must listen to peers. It advertises another address, so that no peer connects.
func etcdFlags(opts embed.EtcdOptions, client, peer string) []string {
	const identity = "http://127.0.0.1:2380"
	return []string{
		"--name=hub", "--data-dir=" + opts.Dir,
		"--listen-peer-urls=http://" + peer, "--initial-advertise-peer-urls=" + identity, "--initial-cluster=hub=" + identity,
		"--listen-client-urls=https://" + client, "--advertise-client-urls=https://" + client,
		"--cert-file=" + opts.Cert, "--key-file=" + opts.CertKey, "--trusted-ca-file=" + opts.CA, "--client-cert-auth",
		"--quota-backend-bytes=" + strconv.FormatInt(opts.Quota, 10), "--snapshot-count=10000", "--log-level=warn",
		"--unsafe-no-fsync=" + strconv.FormatBool(opts.NoFsync),
	}
}

// freeAddress returns a loopback address for a program to listen on. Port 0 is any free port.
func freeAddress(ctx context.Context, port int) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return "", fmt.Errorf("finding a port for etcd: %w", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return "", fmt.Errorf("finding a port for etcd: %w", err)
	}
	return address, nil
}

// etcd is etcd as a program. Its database has no limit but that of its flags: no test of compatibility fills it.
type etcd struct {
	*process.Process

	endpoint string
}

// awaitServing waits until etcd serves clients.
func (e *etcd) awaitServing(ctx context.Context, opts embed.EtcdOptions) error {
	client := embed.EtcdClient{Endpoint: e.endpoint, CA: opts.CA, Cert: opts.Cert, Key: opts.CertKey}
	var pending error
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		if !e.Running() {
			return false, e.ExitError()
		}
		pending = client.Check(ctx)
		return pending == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for etcd: %w: %w", err, pending)
	}
	return nil
}

// Endpoint implements hub.Etcd.
func (e *etcd) Endpoint() string { return e.endpoint }

// Run implements hub.Etcd.
func (e *etcd) Run(ctx context.Context) error {
	select {
	case <-e.Done():
		return e.ExitError()
	case <-ctx.Done():
		if !e.Stop() {
			return fmt.Errorf("stopping etcd: %w", errStopTimeout)
		}
		return nil
	}
}

// Usage implements hub.Etcd.
func (*etcd) Usage() embed.Usage { return embed.Usage{} }

// Compact implements hub.Etcd.
func (*etcd) Compact(context.Context) error { return nil }

// Defragment implements hub.Etcd.
func (*etcd) Defragment() error { return nil }

// SetReadOnly implements hub.Etcd.
func (*etcd) SetReadOnly(context.Context, bool) error { return nil }
