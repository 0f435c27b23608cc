package takeover

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// RecordNamespace is the namespace of the record: that of OCM's controllers, which every such hub has.
	RecordNamespace = "open-cluster-management-hub"
	// RecordName is the name of the ConfigMap with the record.
	RecordName = "berth-takeover"
	recordKey  = "record.json.gz"
	// maxRecord bounds the packed record, maxUnpacked what is unpacked of one. A ConfigMap holds one MiB.
	maxRecord, maxUnpacked = 1 << 20, 16 << 20
)

// Errors of records.
var (
	// ErrNoRecord means that this hub was not taken over by the command.
	ErrNoRecord = errors.New("this hub has no record of a takeover")
	// ErrUnfinished means that the controllers were not all turned off.
	ErrUnfinished = errors.New("the takeover was interrupted: repeat kubectl berth takeover --yes")
	errTooLarge   = errors.New("the record does not fit into a ConfigMap")
	errNotARecord = errors.New("it is not the record of a takeover")
)

// Record is what a hub was at the moment of a takeover.
type Record struct {
	// Started is when the takeover began.
	Started metav1.Time `json:"started"`
	// Stopped are the controllers of Open Cluster Management that were turned off, in this order.
	Stopped []Workload `json:"stopped"`
	// State is what they left, read when all had ended; nil before.
	State *State `json:"state,omitempty"`
}

// Workload is a Deployment, with its replicas before the takeover.
type Workload struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Replicas  int32  `json:"replicas"`
}

// String returns the Deployment for a user.
func (w Workload) String() string { return "Deployment " + w.Namespace + "/" + w.Name }

// Load reads the record of a hub. It returns ErrNoRecord for a hub without a record.
func Load(ctx context.Context, hub client.Reader) (Record, error) {
	stored := &corev1.ConfigMap{}
	err := hub.Get(ctx, recordKeyOf(), stored)
	if apierrors.IsNotFound(err) {
		return Record{}, ErrNoRecord
	}
	if err != nil {
		return Record{}, fmt.Errorf("reading ConfigMap %s/%s: %w", RecordNamespace, RecordName, err)
	}
	record, err := unpack(stored.BinaryData[recordKey])
	if err != nil {
		return Record{}, fmt.Errorf("reading ConfigMap %s/%s: %w: %w", RecordNamespace, RecordName, errNotARecord, err)
	}
	return record, nil
}

// Save stores the record on the hub.
func (r Record) Save(ctx context.Context, hub client.Client) error {
	packed, err := r.pack()
	if err != nil {
		return err
	}
	stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: RecordNamespace, Name: RecordName}}
	err = hub.Get(ctx, recordKeyOf(), stored)
	switch {
	case apierrors.IsNotFound(err):
		stored.BinaryData = map[string][]byte{recordKey: packed}
		err = hub.Create(ctx, stored)
	case err == nil:
		stored.BinaryData = map[string][]byte{recordKey: packed}
		err = hub.Update(ctx, stored)
	}
	if err != nil {
		return fmt.Errorf("storing ConfigMap %s/%s: %w", RecordNamespace, RecordName, err)
	}
	return nil
}

// Remove deletes the record from the hub.
func Remove(ctx context.Context, hub client.Client) error {
	stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: RecordNamespace, Name: RecordName}}
	if err := client.IgnoreNotFound(hub.Delete(ctx, stored)); err != nil {
		return fmt.Errorf("deleting ConfigMap %s/%s: %w", RecordNamespace, RecordName, err)
	}
	return nil
}

func recordKeyOf() client.ObjectKey {
	return client.ObjectKey{Namespace: RecordNamespace, Name: RecordName}
}

func (r Record) pack() ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	if err := errors.Join(json.NewEncoder(compressed).Encode(r), compressed.Close()); err != nil {
		return nil, fmt.Errorf("encoding the record: %w", err)
	}
	if out.Len() > maxRecord {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", errTooLarge, out.Len(), maxRecord)
	}
	return out.Bytes(), nil
}

func unpack(packed []byte) (Record, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return Record{}, err //nolint:wrapcheck // Load names the object
	}
	var out Record
	if err := json.NewDecoder(io.LimitReader(compressed, maxUnpacked)).Decode(&out); err != nil {
		return Record{}, err //nolint:wrapcheck // Load names the object
	}
	return out, nil
}
