package hub

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/hub/embed"
)

var errDisk = errors.New("boom")

const mib = 1 << 20

// fakeDatabase records what is done to it.
type fakeDatabase struct {
	usage embed.Usage
	done  []string
	// failing are the steps that fail.
	failing string
}

func (d *fakeDatabase) do(step string) error {
	d.done = append(d.done, step)
	if d.failing == step {
		return errDisk
	}
	return nil
}

func (d *fakeDatabase) Usage() embed.Usage { return d.usage }

func (d *fakeDatabase) Compact(context.Context) error { return d.do("compact") }

func (d *fakeDatabase) Defragment() error {
	err := d.do("defragment")
	if err == nil {
		d.usage.Size = d.usage.InUse
	}
	return err
}

func (d *fakeDatabase) SetReadOnly(_ context.Context, readOnly bool) error {
	d.usage.ReadOnly = readOnly
	return d.do(map[bool]string{true: "refuse writes", false: "accept writes"}[readOnly])
}

func newTestKeeper(database *fakeDatabase, free *int64) (*storageKeeper, *testclock.FakeClock) {
	clock := testclock.NewFakeClock(time.Unix(0, 0))
	return &storageKeeper{
		database: database, free: func() (int64, error) { return *free, nil }, quota: 1024 * mib, minFree: 256 * mib, clock: clock,
		defragmented: clock.Now(),
	}, clock
}

// check runs one check and compares what was done.
func requireDone(t *testing.T, k *storageKeeper, database *fakeDatabase, want ...string) {
	t.Helper()
	database.done = nil
	if err := k.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, database.done); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
}

func TestAFullDiskStopsWritesUntilItHasSpace(t *testing.T) {
	free := int64(1024 * mib)
	database := &fakeDatabase{usage: embed.Usage{Size: 20 * mib, InUse: 19 * mib}}
	k, _ := newTestKeeper(database, &free)
	requireDone(t, k, database)
	free = 100 * mib
	requireDone(t, k, database, "refuse writes")
	if err := k.Err(); err == nil || !strings.Contains(err.Error(), "its disk has 100.0 MiB of free space, and 256.0 MiB are needed") {
		t.Errorf("Err = %v, want the free space", err)
	}
	free = 300 * mib
	requireDone(t, k, database, "compact")
	if k.Err() == nil {
		t.Error("a disk with little space is written again")
	}
	free = 1024 * mib
	requireDone(t, k, database, "compact", "accept writes")
	if err := k.Err(); err != nil {
		t.Errorf("Err = %v, want none", err)
	}
}

func TestAFullDatabaseIsMadeSmaller(t *testing.T) {
	free := int64(4096 * mib)
	database := &fakeDatabase{usage: embed.Usage{Size: 1024 * mib, InUse: 1000 * mib, ReadOnly: true}}
	k, _ := newTestKeeper(database, &free)
	requireDone(t, k, database, "compact", "defragment")
	if err := k.Err(); err == nil || !strings.Contains(err.Error(), "delete objects, or start the hub with a larger --database-quota") {
		t.Errorf("Err = %v, want advice", err)
	}
	database.usage.InUse = 100 * mib // objects were deleted
	requireDone(t, k, database, "compact", "defragment", "accept writes")
}

func TestAFragmentedDatabaseIsRewrittenOnceAnHour(t *testing.T) {
	free := int64(4096 * mib)
	database := &fakeDatabase{}
	k, clock := newTestKeeper(database, &free)
	fragmented := embed.Usage{Size: 200 * mib, InUse: 50 * mib}
	database.usage = fragmented
	requireDone(t, k, database) // not while the hub starts
	clock.Step(time.Hour)
	requireDone(t, k, database, "defragment")
	database.usage = fragmented
	clock.Step(59 * time.Minute)
	requireDone(t, k, database)
	clock.Step(time.Minute)
	requireDone(t, k, database, "defragment")
}

func TestADatabaseThatCannotBeMadeSmallerStaysReadOnly(t *testing.T) {
	for _, step := range []string{"compact", "defragment"} {
		free := int64(4096 * mib)
		database := &fakeDatabase{usage: embed.Usage{Size: 1024 * mib, InUse: 100 * mib, ReadOnly: true}, failing: step}
		k, _ := newTestKeeper(database, &free)
		if err := k.check(t.Context()); !errors.Is(err, errDisk) || !database.usage.ReadOnly || k.Err() == nil {
			t.Errorf("%s fails: %v, read-only %t; want the error and no write", step, err, database.usage.ReadOnly)
		}
	}
}
