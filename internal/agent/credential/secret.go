package credential

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/agent/client"
)

// SecretName is the name of the Secret of an agent that runs in its member.
const SecretName = "hub-kubeconfig-secret" //nolint:gosec // a name, not a secret

// Secret is a store in a Secret of the member.
type Secret struct {
	Client    *client.Client
	Namespace string
}

// Load implements Store.
func (s Secret) Load(ctx context.Context) (Files, error) {
	stored := &corev1.Secret{}
	err := s.Client.Get(ctx, client.Secret(s.Namespace, SecretName), stored)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err //nolint:wrapcheck // the client names the Secret
	}
	return stored.Data, nil
}

// Save implements Store. Another writer in between is an error, and the caller retries.
func (s Secret) Save(ctx context.Context, files Files) error {
	stored := &corev1.Secret{}
	err := s.Client.Get(ctx, client.Secret(s.Namespace, SecretName), stored)
	if apierrors.IsNotFound(err) {
		stored.ObjectMeta = metav1.ObjectMeta{Namespace: s.Namespace, Name: SecretName}
		stored.Data = files
		return s.Client.Create(ctx, client.Secret(s.Namespace, ""), stored, stored) //nolint:wrapcheck // the client names the Secret
	}
	if err != nil {
		return err //nolint:wrapcheck // the client names the Secret
	}
	if stored.Data == nil {
		stored.Data = map[string][]byte{}
	}
	maps.Copy(stored.Data, files)
	return s.Client.Update(ctx, client.Secret(s.Namespace, SecretName), stored, stored) //nolint:wrapcheck // the client names the Secret
}
