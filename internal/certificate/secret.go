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
	secretName = "berth-serving"
	owner      = "berth-certificate"
	// placer owns nothing in the Secret, so that it takes nothing away from one that is there already.
	placer = "berth-certificate-place"

	nextCertificate = "next.crt"
	nextKey         = "next.key"
	authoritiesKey  = "ca.crt"
	revokedKey      = "revoked.crt"
)

// store keeps the state in a Secret.
type store struct {
	// reader must read from the API server, not from a cache.
	reader client.Reader
	writer client.Client
	key    types.NamespacedName
}

// open loads a state that is to be changed. Where there is no Secret it makes an empty one: of two that store their first
// certificate at the same time, the fence of save holds the later one off only if there is something to fence.
func (s store) open(ctx context.Context) (out state, version string, err error) {
	out, version, err = s.load(ctx)
	if err != nil || version != "" {
		return out, version, err
	}
	if err := s.writer.Apply(ctx, corev1apply.Secret(s.key.Name, s.key.Namespace), client.FieldOwner(placer)); err != nil {
		return state{}, "", fmt.Errorf("making the Secret %s: %w", s.key, err)
	}
	return s.load(ctx)
}

// load returns the state, and the version of the Secret, "" where there is none. What cannot be read of it counts as
// absent, so that a Secret that somebody spoilt is mended.
func (s store) load(ctx context.Context) (out state, version string, err error) {
	secret := &corev1.Secret{}
	if err := s.reader.Get(ctx, s.key, secret); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return state{}, "", nil
		}
		return state{}, "", fmt.Errorf("reading the Secret %s: %w", s.key, err)
	}
	read := func(certificate, key string) *pair {
		out, err := parse(secret.Data[certificate], secret.Data[key])
		if err != nil {
			return nil
		}
		return out
	}
	out = state{
		current: read(corev1.TLSCertKey, corev1.TLSPrivateKeyKey),
		next:    read(nextCertificate, nextKey),
		revoked: secret.Data[revokedKey],
	}
	out.retired = parseAuthorities(secret.Data[authoritiesKey])
	for _, known := range []*pair{out.current, out.next} {
		if known != nil {
			out.retired = except(out.retired, known.authority)
		}
	}
	return out, secret.ResourceVersion, nil
}

// save stores a state, unless the Secret has changed since the given version.
func (s store) save(ctx context.Context, state state, version string) error {
	secret := corev1apply.Secret(s.key.Name, s.key.Namespace).WithResourceVersion(version).
		WithData(map[string][]byte{authoritiesKey: state.authorities()})
	put := func(p *pair, certificate, key string) {
		if p != nil {
			secret.WithData(map[string][]byte{certificate: p.certificate, key: p.key})
		}
	}
	put(state.current, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	put(state.next, nextCertificate, nextKey)
	if state.revoked != nil {
		secret.WithData(map[string][]byte{revokedKey: state.revoked})
	}
	if err := s.writer.Apply(ctx, secret, client.FieldOwner(owner), client.ForceOwnership); err != nil {
		return fmt.Errorf("writing the Secret %s: %w", s.key, err)
	}
	return nil
}
