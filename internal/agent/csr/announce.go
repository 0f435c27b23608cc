package csr

import (
	"context"
	"fmt"
	"log/slog"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/credential"
)

// Announcer reports a member to a hub that has recorded another one under its name, by a certificate request that carries its UID. The key
// of the request is thrown away: the hub shows the request as a conflict with the recorded member.
type Announcer struct {
	Hub   Hub
	Names credential.Names
	// UID is that of the member.
	UID string
	Log *slog.Logger

	// name is the request; empty before the first.
	name string
}

// Announce makes sure that the hub has a request that reports this member. The hub removes those that are denied or not decided.
func (a *Announcer) Announce(ctx context.Context) error {
	if a.name == "" {
		if err := a.find(ctx); err != nil {
			return err
		}
	}
	if a.name != "" {
		stored := &certificatesv1.CertificateSigningRequest{}
		err := a.Hub.Get(ctx, client.CSR(a.name), stored)
		if !apierrors.IsNotFound(err) {
			return err //nolint:wrapcheck // the client names the object
		}
	}
	key, _, err := newKey()
	if err != nil {
		return err
	}
	request, err := newRequest(a.Names, a.UID, 0, key)
	if err != nil {
		return err
	}
	stored := &certificatesv1.CertificateSigningRequest{}
	if err := a.Hub.Create(ctx, client.CSR(""), request, stored); err != nil {
		return fmt.Errorf("reporting this member to the hub: %w", err)
	}
	a.name = stored.Name
	a.Log.Info("reported this member to the hub", "request", stored.Name, "uid", a.UID, "accept",
		"kubectl berth accept --replace "+a.Names.Cluster)
	return nil
}

// find looks for a request that reports this member, as from before a restart. A join token may not list requests.
func (a *Announcer) find(ctx context.Context) error {
	list := &certificatesv1.CertificateSigningRequestList{}
	err := a.Hub.List(ctx, client.CSR(""), metav1.ListOptions{
		LabelSelector: clusterv1.ClusterNameLabelKey + "=" + a.Names.Cluster, Limit: maxListed,
	}, list)
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // the client names the object
	}
	for i := range list.Items {
		request := &list.Items[i]
		if state, _ := Inspect(request); (state == Pending || state == Denied) &&
			request.Annotations[clusterv1.ClusterUIDAnnotationKey] == a.UID {
			a.name = request.Name
			return nil
		}
	}
	return nil
}
