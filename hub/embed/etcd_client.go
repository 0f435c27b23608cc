package embed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// connectTimeout is how long a client waits for the first response of etcd.
const connectTimeout = 10 * time.Second

// EtcdClient describes how to reach an etcd that runs, in this process or in another one. All certificates are files.
type EtcdClient struct {
	// Endpoint is the URL, CA to Key the trust and identity to use there.
	Endpoint, CA, Cert, Key string
}

// SaveSnapshot stores a consistent copy of the whole database in a new file, followed by its SHA-256 hash, as etcd's own tools do.
// Writes go on meanwhile. Only the owner can read the file. After an error there is no file.
func (c EtcdClient) SaveSnapshot(ctx context.Context, path string) (err error) {
	client, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing was written
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("creating the file of the snapshot: %w", err)
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			_ = os.Remove(path) // the first error is the cause
		}
	}()
	snapshot, err := client.SnapshotWithVersion(ctx)
	if err != nil {
		return fmt.Errorf("requesting a snapshot of etcd: %w", err)
	}
	defer snapshot.Snapshot.Close() //nolint:errcheck // it was read to its end, or another error is returned
	if _, err := io.Copy(file, snapshot.Snapshot); err != nil {
		return fmt.Errorf("storing the snapshot of etcd in %s: %w", path, err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("storing the snapshot of etcd: %w", err)
	}
	return nil
}

// Check returns an error unless etcd responds.
func (c EtcdClient) Check(ctx context.Context) error {
	client, err := c.connect(ctx)
	if err != nil {
		return err
	}
	if err := client.Close(); err != nil {
		return fmt.Errorf("disconnecting from etcd: %w", err)
	}
	return nil
}

// connect returns a client of an etcd that responds.
func (c EtcdClient) connect(ctx context.Context) (*clientv3.Client, error) {
	files := transport.TLSInfo{CertFile: c.Cert, KeyFile: c.Key, TrustedCAFile: c.CA}
	config, err := files.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of etcd's client: %w", err)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{c.Endpoint}, TLS: config, DialTimeout: connectTimeout,
		Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to etcd at %s: %w", c.Endpoint, err)
	}
	first, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if _, err := client.Status(first, c.Endpoint); err != nil {
		return nil, errors.Join(fmt.Errorf("connecting to etcd at %s: %w", c.Endpoint, err), client.Close())
	}
	return client, nil
}
