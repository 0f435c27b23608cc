package hub

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/embed"
	"github.com/berth-project/berth/hub/internal/storage"
)

const (
	// DefaultDatabaseQuota is the default limit of the database file. etcd advises against more.
	DefaultDatabaseQuota = 8 << 30
	// DefaultMinFreeDisk is the default of the free space below which the hub becomes read-only. etcd's log takes 128 MiB ahead.
	DefaultMinFreeDisk = 256 << 20

	// spaceCheckInterval is the time between two checks of the space.
	spaceCheckInterval = 5 * time.Second
	// fullLogInterval is the time between two log lines about a hub that stays read-only.
	fullLogInterval = time.Minute
)

// database is the part of etcd that the storage keeper uses.
type database interface {
	Usage() embed.Usage
	Compact(ctx context.Context) error
	Defragment() error
	SetReadOnly(ctx context.Context, readOnly bool) error
}

// storageKeeper keeps the space of the database: it measures, and does what package storage decides.
type storageKeeper struct {
	database database
	// free returns the free space of the disk.
	free           func() (int64, error)
	quota, minFree int64
	clock          clock.WithTicker
	// defragmented is the time of the last defragmentation, or of the start. logged is the time of the last line about a full database.
	defragmented, logged time.Time
	// full is why the hub is read-only; empty if it is not.
	full atomic.Pointer[string]
}

func newStorageKeeper(of database, dir string, opts Options) *storageKeeper {
	time := clock.RealClock{}
	return &storageKeeper{
		database: of, free: func() (int64, error) { return freeBytes(dir) },
		quota: opts.DatabaseQuota, minFree: opts.MinFreeDisk, clock: time, defragmented: time.Now(),
	}
}

// freeBytes returns the space that a user may still take on the disk of a folder.
func freeBytes(dir string) (int64, error) {
	var found syscall.Statfs_t
	if err := syscall.Statfs(dir, &found); err != nil {
		return 0, fmt.Errorf("measuring the free space of %s: %w", dir, err)
	}
	return int64(found.Bavail) * int64(found.Bsize), nil //nolint:gosec,unconvert // no disk has 2^63 bytes; the types differ by platform
}

// Err returns why the hub is read-only, and nil while it is not.
func (k *storageKeeper) Err() error {
	if full := k.full.Load(); full != nil {
		return fmt.Errorf("the database accepts no writes: %s", *full)
	}
	return nil
}

// start makes a database that was read-only writable, or returns why it cannot be.
func (k *storageKeeper) start(ctx context.Context) error {
	if err := k.check(ctx); err != nil {
		return err
	}
	return k.Err()
}

// run checks the space until ctx ends.
func (k *storageKeeper) run(ctx context.Context) error {
	ticker := k.clock.NewTicker(spaceCheckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			if err := k.check(ctx); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Keeping the space of the database failed; trying again", "interval", spaceCheckInterval)
			}
		}
	}
}

// check measures the space and acts.
func (k *storageKeeper) check(ctx context.Context) error {
	state, err := k.measure()
	if err != nil {
		return err
	}
	plan := storage.Decide(state)
	if plan.Compact {
		err = k.database.Compact(ctx)
	}
	if plan.Defragment {
		err = errors.Join(err, k.defragment(ctx, state))
	}
	if err != nil {
		if state.ReadOnly {
			k.report(ctx, err.Error())
		}
		return err
	}
	if plan.Compact || plan.Defragment {
		if state, err = k.measure(); err != nil {
			return err
		}
		plan = storage.Decide(state)
	}
	if full := plan.Full != ""; full != state.ReadOnly {
		if err := k.database.SetReadOnly(ctx, full); err != nil {
			return err
		}
	}
	k.report(ctx, plan.Full)
	return nil
}

func (k *storageKeeper) measure() (storage.State, error) {
	free, err := k.free()
	if err != nil {
		return storage.State{}, err
	}
	usage := k.database.Usage()
	return storage.State{
		Size: usage.Size, InUse: usage.InUse, Quota: k.quota, Free: free, MinFree: k.minFree, ReadOnly: usage.ReadOnly,
		SinceDefragment: k.clock.Since(k.defragmented),
	}, nil
}

func (k *storageKeeper) defragment(ctx context.Context, before storage.State) error {
	k.defragmented = k.clock.Now()
	if err := k.database.Defragment(); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Defragmented the database", "bytesBefore", before.Size, "bytesAfter", k.database.Usage().Size, "took",
		k.clock.Since(k.defragmented))
	return nil
}

// report logs that the hub became read-only, each minute that it still is, and that it is no more.
func (k *storageKeeper) report(ctx context.Context, full string) {
	log := klog.FromContext(ctx)
	was := k.full.Load() != nil
	if full == "" {
		if was {
			log.Info("The database accepts writes again")
		}
		k.full.Store(nil)
		return
	}
	k.full.Store(&full)
	if !was || k.clock.Since(k.logged) >= fullLogInterval {
		k.logged = k.clock.Now()
		log.Error(k.Err(), "The hub is read-only: it serves reads and deletions, and nothing is lost")
	}
}
