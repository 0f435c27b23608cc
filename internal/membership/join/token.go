package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// minTTL is the shortest lifetime that Kubernetes issues a token for; maxTTL bounds the use of a leaked one.
	minTTL = 10 * time.Minute
	maxTTL = 7 * 24 * time.Hour
)

var errGone = errors.New("the cluster was deleted meanwhile: try again")

// Token describes a join token: the right of one agent to request the first certificate of one cluster.
type Token struct {
	// Cluster is the name of the cluster. The ManagedCluster is created, not accepted, where it does not exist.
	Cluster string
	// Set is the ManagedClusterSet of a new cluster; empty is `default`. Labels are its other labels.
	Set    string
	Labels map[string]string
	// TTL is how long the token is valid: 10 minutes to 7 days.
	TTL time.Duration
	// Driver is how the agent authenticates: "csr", "token", or empty: that of an existing cluster, and "csr" for a new one.
	Driver string
	// Rejoin lets a cluster that has joined before join again. It ends all former join tokens of the cluster.
	Rejoin bool
}

// Validate returns the first fault.
func (t Token) Validate() error {
	switch faults := validation.IsDNS1123Label(t.Cluster); {
	case t.Cluster == "":
		return errors.New("name the cluster: --cluster NAME")
	case len(faults) > 0:
		return fmt.Errorf("--cluster %q is no name of a cluster: %s", t.Cluster, faults[0])
	case t.Driver != "" && t.Driver != registration.DriverCSR && t.Driver != registration.DriverToken:
		return fmt.Errorf("--driver %q: must be csr or token", t.Driver)
	case t.TTL < minTTL || t.TTL > maxTTL:
		return fmt.Errorf("--ttl %s: a token lives from %s to %s", t.TTL, minTTL, maxTTL)
	}
	return nil
}

// Create stores what the token needs and returns it, with the driver of the cluster. Creating a second token for a cluster leaves the
// first one valid, unless it is to rejoin. The cluster is written last: a request of a former token that waits is never approved by it.
func (t Token) Create(ctx context.Context, hub client.Client) (token, driver string, err error) {
	if err := t.Validate(); err != nil {
		return "", "", err
	}
	cluster, err := t.cluster(ctx, hub)
	if err != nil {
		return "", "", err
	}
	account, err := t.account(ctx, hub, cluster)
	if err != nil {
		return "", "", err
	}
	if cluster, err = t.record(ctx, hub, cluster, account); err != nil {
		return "", "", err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(t.TTL.Seconds()))}}
	if err := hub.SubResource("token").Create(ctx, account, request); err != nil {
		return "", "", fmt.Errorf("requesting a token for the service account %s/%s: %w", account.Namespace, account.Name, err)
	}
	return request.Status.Token, cmp.Or(cluster.Annotations[clusterv1.DriverAnnotationKey], registration.DriverCSR), nil
}

// account stores the account of the token and its permissions. To rejoin makes another account.
func (t Token) account(ctx context.Context, hub client.Client, cluster *clusterv1.ManagedCluster) (*corev1.ServiceAccount, error) {
	if err := createMissing(ctx, hub, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: registration.JoinNamespace}}); err != nil {
		return nil, err
	}
	if t.Rejoin {
		if err := deleteJoinAccount(ctx, hub, t.Cluster); err != nil {
			return nil, err
		}
	}
	account := &corev1.ServiceAccount{
		ObjectMeta:                   metav1.ObjectMeta{Namespace: registration.JoinNamespace, Name: t.Cluster},
		AutomountServiceAccountToken: new(false),
	}
	for _, object := range append([]client.Object{account}, t.permissions()...) {
		if err := controllerutil.SetOwnerReference(cluster, object, hub.Scheme(), controllerutil.WithBlockOwnerDeletion(false)); err != nil {
			return nil, fmt.Errorf("setting the owner of %s: %w", object.GetName(), err)
		}
		if err := createOwned(ctx, hub, object, cluster); err != nil {
			return nil, err
		}
	}
	return account, nil
}

// cluster returns the ManagedCluster, and creates it where it is missing.
func (t Token) cluster(ctx context.Context, hub client.Client) (*clusterv1.ManagedCluster, error) {
	made := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: t.Cluster, Labels: map[string]string{}}}
	maps.Copy(made.Labels, t.Labels)
	if t.Set != "" {
		made.Labels[clusterv1beta2.ClusterSetLabel] = t.Set
	}
	err := hub.Create(ctx, made, client.FieldOwner(fieldManager))
	if err == nil {
		return made, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("creating ManagedCluster %s: %w", t.Cluster, err)
	}
	stored := &clusterv1.ManagedCluster{}
	if err := hub.Get(ctx, client.ObjectKeyFromObject(made), stored); err != nil {
		return nil, fmt.Errorf("reading ManagedCluster %s: %w", t.Cluster, err)
	}
	for key, value := range t.Labels {
		if stored.Labels[key] != value {
			return nil, fmt.Errorf("ManagedCluster %s exists with another label %s: leave out --label, or label the cluster first", t.Cluster, key)
		}
	}
	switch set := stored.Labels[clusterv1beta2.ClusterSetLabel]; {
	case t.Set != "" && t.Set != set:
		return nil, fmt.Errorf("ManagedCluster %s exists in the set %q: leave out --set, or move the cluster first", t.Cluster, set)
	case registration.Reported(stored) && !t.Rejoin:
		return nil, fmt.Errorf("ManagedCluster %s has joined: add --rejoin to let it join again, or choose another name", t.Cluster)
	case !stored.DeletionTimestamp.IsZero():
		return nil, fmt.Errorf("ManagedCluster %s is being deleted: wait until it is gone", t.Cluster)
	}
	return stored, nil
}

// record records the account of the token as the requester of the first certificate of a cluster.
func (t Token) record(ctx context.Context, hub client.Client, cluster *clusterv1.ManagedCluster, account *corev1.ServiceAccount,
) (*clusterv1.ManagedCluster, error) {
	var next *clusterv1.ManagedCluster
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // the agent and the hub write the cluster as well
		stored := &clusterv1.ManagedCluster{}
		if err := hub.Get(ctx, client.ObjectKeyFromObject(cluster), stored); err != nil {
			return err //nolint:wrapcheck // wrapped below
		}
		if stored.UID != cluster.UID || !stored.DeletionTimestamp.IsZero() {
			return errGone
		}
		next = stored.DeepCopy()
		registration.SetRequester(next, registration.JoinUser(t.Cluster), string(account.UID))
		if t.Driver != "" {
			next.Annotations[clusterv1.DriverAnnotationKey] = t.Driver
		}
		if report, ok := stored.Annotations[clusterv1.AgentTokenAnnotationKey]; ok { // only a later report uses up this token
			next.Annotations[clusterv1.JoinedRequestAnnotationKey] = report
		}
		if t.Rejoin {
			next.Annotations[clusterv1.AutoRejoinAnnotationKey] = "true"
		}
		return hub.Patch(ctx, next, apply.Fenced(stored), client.FieldOwner(fieldManager)) //nolint:wrapcheck // wrapped below
	})
	if err != nil {
		return nil, fmt.Errorf("recording the requester on ManagedCluster %s: %w", t.Cluster, err)
	}
	return next, nil
}

// permissions returns the role of the token and its binding: the cluster by name, and certificate requests without a list.
func (t Token) permissions() []client.Object {
	name := "berth:join:" + t.Cluster
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{clusterv1.GroupName}, Resources: []string{"managedclusters"}, ResourceNames: []string{t.Cluster},
				Verbs: []string{"get"},
			},
			{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create", "get"}},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: registration.JoinNamespace, Name: t.Cluster}},
		},
	}
}

// deleteJoinAccount ends all join tokens of a cluster.
func deleteJoinAccount(ctx context.Context, hub client.Client, cluster string) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: registration.JoinNamespace, Name: cluster}}
	if err := hub.Delete(ctx, account); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the ServiceAccount %s/%s of former join tokens: %w", account.Namespace, account.Name, err)
	}
	return nil
}

// createOwned creates an object unless it exists. An object of an earlier cluster of the same name is about to be collected as
// garbage, and a token of it would be invalid within seconds.
func createOwned(ctx context.Context, hub client.Client, object client.Object, owner *clusterv1.ManagedCluster) error {
	if err := createMissing(ctx, hub, object); err != nil {
		return err
	}
	if err := hub.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return fmt.Errorf("reading %T %s: %w", object, object.GetName(), err)
	}
	for _, reference := range object.GetOwnerReferences() {
		if reference.UID == owner.UID {
			return nil
		}
	}
	return fmt.Errorf("%T %s belongs to an earlier cluster of this name: try again in a minute, or delete it", object, object.GetName())
}

// createMissing creates an object unless it exists.
func createMissing(ctx context.Context, hub client.Client, object client.Object) error {
	if err := hub.Create(ctx, object, client.FieldOwner(fieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
	}
	return nil
}
