package views

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
)

const (
	// authConfigMap is the ConfigMap in kube-system with the client CAs and the front-proxy headers that aggregated servers trust.
	authConfigMap = "extension-apiserver-authentication"
	// authCacheTTL is how long a response of the hub is cached.
	authCacheTTL = 5 * time.Second
	// reviewTimeout bounds one TokenReview.
	reviewTimeout = 10 * time.Second
)

// retryBackoff returns the backoff of requests to the hub.
func retryBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
}

// delegateAuth lets the hub authenticate callers and authorize their requests. Anonymous requests are rejected.
func delegateAuth(ctx context.Context, hub *clientrest.Config, config *server.Config) error {
	client, err := kubernetes.NewForConfig(hub)
	if err != nil {
		return fmt.Errorf("creating a client for the hub: %w", err)
	}
	if err := configureAuthentication(ctx, client, config); err != nil {
		return err
	}
	delegating, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(),
		AllowCacheTTL:             authCacheTTL,
		DenyCacheTTL:              authCacheTTL,
		WebhookRetryBackoff:       retryBackoff(),
	}.New()
	if err != nil {
		return fmt.Errorf("delegating authorization: %w", err)
	}
	config.Authorization.Authorizer = union.New(authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup), delegating)
	return nil
}

// configureAuthentication accepts the headers of the hub's front proxy, and the hub's client certificates and tokens.
func configureAuthentication(ctx context.Context, client kubernetes.Interface, config *server.Config) error {
	proxy, err := newRequestHeaderController(client)
	if err != nil {
		return err
	}
	if err := proxy.RunOnce(ctx); err != nil {
		return fmt.Errorf("reading the front-proxy CA of the hub: %w", err)
	}
	users, err := caFromConfigMap(client, "client-ca", "client-ca-file")
	if err != nil {
		return err
	}
	headers := &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   proxy,
		UsernameHeaders:     headerrequest.StringSliceProviderFunc(proxy.UsernameHeaders),
		UIDHeaders:          headerrequest.StringSliceProviderFunc(proxy.UIDHeaders),
		GroupHeaders:        headerrequest.StringSliceProviderFunc(proxy.GroupHeaders),
		ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(proxy.ExtraHeaderPrefixes),
		AllowedClientNames:  headerrequest.StringSliceProviderFunc(proxy.AllowedClientNames),
	}
	authenticator, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient:            client.AuthenticationV1(),
		TokenAccessReviewTimeout:           reviewTimeout,
		WebhookRetryBackoff:                retryBackoff(),
		CacheTTL:                           authCacheTTL,
		ClientCertificateCAContentProvider: users,
		RequestHeaderConfig:                headers,
	}.New()
	if err != nil {
		return fmt.Errorf("delegating authentication: %w", err)
	}
	config.Authentication = server.AuthenticationInfo{Authenticator: authenticator, RequestHeaderConfig: headers}
	// SecureServing runs these providers, which follow the ConfigMap.
	trusted := []dynamiccertificates.CAContentProvider{users, proxy}
	config.SecureServing.Listener = newGatedListener(ctx, config.SecureServing.Listener, trusted)
	for _, provider := range trusted {
		if err := config.Authentication.ApplyClientCert(provider, config.SecureServing); err != nil {
			return fmt.Errorf("trusting client certificates: %w", err)
		}
	}
	return nil
}

func newRequestHeaderController(client kubernetes.Interface) (*options.DynamicRequestHeaderController, error) {
	signers, err := caFromConfigMap(client, "front-proxy-ca", "requestheader-client-ca-file")
	if err != nil {
		return nil, err
	}
	return &options.DynamicRequestHeaderController{
		ConfigMapCAController: signers,
		RequestHeaderAuthRequestController: headerrequest.NewRequestHeaderAuthRequestController(
			authConfigMap, metav1.NamespaceSystem, client,
			"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers",
			"requestheader-extra-headers-prefix", "requestheader-allowed-names",
		),
	}, nil
}

func caFromConfigMap(client kubernetes.Interface, purpose, key string) (*dynamiccertificates.ConfigMapCAController, error) {
	out, err := dynamiccertificates.NewDynamicCAFromConfigMapController(purpose, metav1.NamespaceSystem, authConfigMap, key, client)
	if err != nil {
		return nil, fmt.Errorf("watching the CA %s: %w", purpose, err)
	}
	return out, nil
}
