package certificate

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups="",namespace=berth-system,resources=secrets,resourceNames=berth-serving,verbs=get;create;patch

const (
	secretName   = "berth-serving"
	fieldManager = "berth-certificate"
	// creatorFieldManager owns no field of the Secret, so it removes nothing from an existing one.
	creatorFieldManager = "berth-certificate-place"

	nextCertificate = "next.crt"
	nextKey         = "next.key"
	caKey           = "ca.crt"
	revokedKey      = "revoked.crt"
)

// secretStore stores the rotation state in a Secret.
type secretStore struct {
	// reader must read from the API server, not from a cache.
	reader client.Reader
	writer client.Client
	key    types.NamespacedName
}

// loadOrCreate loads the state before a change. It creates a missing Secret empty, since save detects a concurrent write only by
// the resource version of an existing Secret.
func (s secretStore) loadOrCreate(ctx context.Context) (out rotationState, version string, err error) {
	out, version, err = s.load(ctx)
	if err != nil || version != "" {
		return out, version, err
	}
	if err := s.writer.Apply(ctx, corev1apply.Secret(s.key.Name, s.key.Namespace), client.FieldOwner(creatorFieldManager)); err != nil {
		return rotationState{}, "", fmt.Errorf("creating the Secret %s: %w", s.key, err)
	}
	return s.load(ctx)
}

// load returns the state and the resource version of the Secret; "" if it does not exist. Invalid fields count as
// missing, so a damaged Secret is repaired.
func (s secretStore) load(ctx context.Context) (out rotationState, version string, err error) {
	secret := &corev1.Secret{}
	if err := s.reader.Get(ctx, s.key, secret); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return rotationState{}, "", nil
		}
		return rotationState{}, "", fmt.Errorf("reading the Secret %s: %w", s.key, err)
	}
	read := func(certificate, key string) *keyPair {
		out, err := parseWithCA(secret.Data[certificate], secret.Data[key])
		if err != nil {
			return nil
		}
		return out
	}
	out = rotationState{
		current: read(corev1.TLSCertKey, corev1.TLSPrivateKeyKey),
		next:    read(nextCertificate, nextKey),
		revoked: secret.Data[revokedKey],
	}
	out.retired = parseCAs(secret.Data[caKey])
	for _, known := range []*keyPair{out.current, out.next} {
		if known != nil {
			out.retired = withoutCA(out.retired, known.caBundle)
		}
	}
	return out, secret.ResourceVersion, nil
}

// save stores a state, unless the Secret has changed since the given resource version.
func (s secretStore) save(ctx context.Context, state rotationState, version string) error {
	secret := corev1apply.Secret(s.key.Name, s.key.Namespace).WithResourceVersion(version).
		WithData(map[string][]byte{caKey: state.caBundle()})
	put := func(p *keyPair, certificate, key string) {
		if p != nil {
			secret.WithData(map[string][]byte{certificate: p.certificate, key: p.key})
		}
	}
	put(state.current, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	put(state.next, nextCertificate, nextKey)
	if state.revoked != nil {
		secret.WithData(map[string][]byte{revokedKey: state.revoked})
	}
	if err := s.writer.Apply(ctx, secret, client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("writing the Secret %s: %w", s.key, err)
	}
	return nil
}
