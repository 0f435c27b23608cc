package csr

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/credential"
)

// Creator creates objects on the hub.
type Creator interface {
	Create(ctx context.Context, object client.Object, body, into runtime.Object) error
}

// Announce creates a certificate request that carries the UID of a member, and returns its name. Its key is thrown away: the request
// only reports the member to the hub, where it appears as a conflict with the recorded one.
func Announce(ctx context.Context, hub Creator, names credential.Names, uid string) (name string, err error) {
	key, _, err := newKey()
	if err != nil {
		return "", err
	}
	request, err := newRequest(names, uid, 0, key)
	if err != nil {
		return "", err
	}
	stored := &certificatesv1.CertificateSigningRequest{}
	err = hub.Create(ctx, client.CSR(""), request, stored)
	return stored.Name, err //nolint:wrapcheck // the client names the object
}
