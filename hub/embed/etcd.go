package embed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	etcd "go.etcd.io/etcd/server/v3/embed"
)

const (
	// snapshotCount bounds the entries that raft keeps in memory and replays.
	snapshotCount = 10_000
	// slowRequestThreshold is the duration from which a request is logged.
	slowRequestThreshold = time.Second
)

var errDamaged = errors.New("damaged")

// EtcdOptions configures etcd. All certificates are files, signed by an authority for etcd alone, because a client of etcd
// bypasses RBAC.
type EtcdOptions struct {
	Dir string
	// Port on 127.0.0.1; 0 takes a free one.
	Port              int
	CA, Cert, CertKey string
	// Quota is the maximal size of the database file in bytes. Writes are refused beyond it.
	Quota int64
	// NoFsync is faster, and may lose data in a power cut.
	NoFsync bool
}

// Etcd is a running etcd server.
type Etcd struct {
	server *etcd.Etcd
	// fatal receives the first fatal log call.
	fatal <-chan error
}

// StartEtcd starts etcd and returns once it serves. For unreadable data, the error names the folder.
func StartEtcd(ctx context.Context, opts EtcdOptions, logs Logs) (*Etcd, error) {
	if err := checkData(opts.Dir); err != nil {
		return nil, dataError(opts.Dir, fmt.Errorf("nothing in it was changed: %w", err))
	}
	broken := make(chan error, 1)
	config := opts.config()
	config.ZapLoggerBuilder = etcd.NewZapLoggerBuilder(logs.etcdLogger(broken))
	// In a goroutine of its own, since a fatal log call in StartEtcd ends it.
	started := make(chan result, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil { // raft panics on a damaged log
				started <- result{err: fmt.Errorf("%w: %v", errDamaged, r)}
			}
		}()
		server, err := etcd.StartEtcd(config)
		started <- result{server, err}
	}()
	select {
	case err := <-broken:
		return nil, dataError(opts.Dir, err)
	case r := <-started:
		if errors.Is(r.err, errDamaged) {
			return nil, dataError(opts.Dir, r.err)
		}
		if r.err != nil {
			return nil, startError(opts, r.err)
		}
		return awaitServing(ctx, r.server, broken)
	case <-ctx.Done():
		return nil, fmt.Errorf("starting etcd: %w", ctx.Err())
	}
}

type result struct {
	server *etcd.Etcd
	err    error
}

// awaitServing waits until etcd serves.
func awaitServing(ctx context.Context, server *etcd.Etcd, broken <-chan error) (*Etcd, error) {
	select {
	case <-server.Server.ReadyNotify():
		return &Etcd{server: server, fatal: broken}, nil
	case err := <-broken:
		return nil, dataError(server.Config().Dir, err)
	case err := <-server.Err():
		return nil, fmt.Errorf("starting etcd: %w", err)
	case <-ctx.Done():
		server.Close()
		return nil, fmt.Errorf("waiting for etcd: %w", ctx.Err())
	}
}

// Endpoint returns the URL at which clients reach etcd.
func (e *Etcd) Endpoint() string {
	return "https://" + e.server.Clients[0].Addr().String()
}

// Run blocks until etcd fails, or until ctx ends and etcd has closed. It does not close etcd after a fatal error, because
// closing waits for the failed goroutines.
func (e *Etcd) Run(ctx context.Context) error {
	select {
	case err := <-e.fatal:
		return err
	case err := <-e.server.Err():
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
		e.Close()
		return nil
	}
}

// Close stops etcd, which Run does too.
func (e *Etcd) Close() { e.server.Close() }

// config returns a cluster of one member. It listens to no peers. The advertised peer URL is the identity of the member in its
// data, and must not change.
func (o EtcdOptions) config() *etcd.Config {
	cfg := etcd.NewConfig()
	cfg.Name = "hub"
	cfg.Dir = o.Dir
	cfg.ListenPeerUrls = nil
	cfg.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	client := url.URL{Scheme: "https", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port))}
	cfg.ListenClientUrls = []url.URL{client}
	cfg.AdvertiseClientUrls = []url.URL{client}
	cfg.ClientTLSInfo.CertFile = o.Cert
	cfg.ClientTLSInfo.KeyFile = o.CertKey
	cfg.ClientTLSInfo.TrustedCAFile = o.CA
	cfg.ClientTLSInfo.ClientCertAuth = true
	cfg.TlsMinVersion = "TLS1.3"
	cfg.QuotaBackendBytes = o.Quota
	cfg.SnapshotCount = snapshotCount
	cfg.UnsafeNoFsync = o.NoFsync
	cfg.EnableGRPCGateway = false
	cfg.WarningUnaryRequestDuration = slowRequestThreshold
	return cfg
}

// startError adds advice to an error of etcd's start.
func startError(opts EtcdOptions, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("etcd's port %d on 127.0.0.1 is taken; stop what listens there or choose another port (0 takes a free one): %w",
			opts.Port, err)
	}
	if err, ok := diskError(opts.Dir, err); ok {
		return err
	}
	return fmt.Errorf("starting etcd in %s: %w", opts.Dir, err)
}

// dataError adds advice to a fatal error of etcd: about the disk, or else about the data.
func dataError(dir string, err error) error {
	if err, ok := diskError(dir, err); ok {
		return err
	}
	return fmt.Errorf("etcd's data in %s cannot be read; move the data folder away and restore a backup with `berth-hub "+
		"restore`, or start empty: %w", dir, err)
}

// diskError returns advice about a disk, or false if the disk is not the cause.
func diskError(dir string, err error) (advice error, ok bool) {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("etcd's folder %s is on a full disk; free some space or choose another data folder: %w", dir, err), true
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("etcd's folder %s is not writable; change its permissions or choose another data folder: %w", dir, err), true
	default:
		return nil, false
	}
}
