package embed

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// Usage is the space of a database.
type Usage struct {
	// Size is the size of its file, and InUse the part that has data.
	Size, InUse int64
	// ReadOnly is true while writes are refused. Reads and deletions are not.
	ReadOnly bool
}

// Usage returns the space of the database.
func (e *Etcd) Usage() Usage {
	database := e.server.Server.Backend()
	out := Usage{Size: database.Size(), InUse: database.SizeInUse()}
	for _, alarm := range e.server.Server.Alarms() {
		out.ReadOnly = out.ReadOnly || alarm.GetAlarm() == etcdserverpb.AlarmType_NOSPACE
	}
	return out
}

// Compact discards the history of all objects. The API server does so too, but not while the database is read-only. A watch that is
// behind ends, and its client lists again.
func (e *Etcd) Compact(ctx context.Context) error {
	request := &etcdserverpb.CompactionRequest{Revision: e.server.Server.KV().Rev(), Physical: true}
	if _, err := e.server.Server.Compact(ctx, request); err != nil && !errors.Is(err, mvcc.ErrCompacted) {
		return fmt.Errorf("compacting the database: %w", err)
	}
	return nil
}

// Defragment rewrites the file of the database without its free parts. No request is served meanwhile.
func (e *Etcd) Defragment() error {
	if err := e.server.Server.Defragment(); err != nil {
		return fmt.Errorf("defragmenting the database: %w", err)
	}
	return nil
}

// SetReadOnly refuses writes, or accepts them again.
func (e *Etcd) SetReadOnly(ctx context.Context, readOnly bool) error {
	request := &etcdserverpb.AlarmRequest{
		MemberID: uint64(e.server.Server.MemberID()), Alarm: etcdserverpb.AlarmType_NOSPACE, Action: etcdserverpb.AlarmRequest_DEACTIVATE,
	}
	if readOnly {
		request.Action = etcdserverpb.AlarmRequest_ACTIVATE
	}
	if _, err := e.server.Server.Alarm(ctx, request); err != nil {
		return fmt.Errorf("setting whether the database is read-only: %w", err)
	}
	return nil
}
