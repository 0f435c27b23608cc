package embed

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// agentCertificateLife is the longest lifetime of a certificate that the hub signs for an agent.
const agentCertificateLife = 90 * 24 * time.Hour

// ControllerOptions configures the controllers.
type ControllerOptions struct {
	// Kubeconfig contains the identity of the controllers.
	Kubeconfig string
	// RootCA is published to every namespace; SigningKey signs tokens. Both files.
	RootCA, SigningKey string
	// AgentCA and AgentCAKey sign approved certificate requests for clients of the API server. Both files; empty: no request is signed.
	AgentCA, AgentCAKey string
	// Workloads runs the controllers of workloads and of nodes too.
	Workloads bool
}

// workloadLoops are the controllers that workloads on nodes need.
func workloadLoops() []string {
	return []string{
		names.DeploymentController,
		names.ReplicaSetController,
		names.StatefulSetController,
		names.DaemonSetController,
		names.JobController,
		names.EndpointSliceController,
		names.NodeLifecycleController,
		names.TaintEvictionController,
		names.PodGarbageCollectorController,
	}
}

// Flags select the controllers of a control plane, by default of one without nodes. They share
// one identity. A service account for each would add round trips without more
// security, because their process holds every key.
func (o ControllerOptions) Flags() []string {
	loops := []string{
		names.GarbageCollectorController,
		names.NamespaceController,
		names.ServiceAccountController,
		names.ServiceAccountTokenController,
		names.RootCACertificatePublisherController,
		names.ClusterRoleAggregationController,
		names.CertificateSigningRequestCleanerController,
	}
	if o.Workloads {
		loops = append(loops, workloadLoops()...)
	}
	var signing []string
	if o.AgentCA != "" {
		loops = append(loops, names.CertificateSigningRequestSigningController)
		signing = []string{
			// A key for this signer alone turns the other signers of Kubernetes off.
			"--cluster-signing-kube-apiserver-client-cert-file=" + o.AgentCA,
			"--cluster-signing-kube-apiserver-client-key-file=" + o.AgentCAKey,
			"--cluster-signing-duration=" + agentCertificateLife.String(),
		}
	}
	return append(signing,
		"--kubeconfig="+o.Kubeconfig,
		"--controllers="+strings.Join(loops, ","),
		"--leader-elect=false",
		"--secure-port=0",
		"--root-ca-file="+o.RootCA,
		"--service-account-private-key-file="+o.SigningKey,
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	)
}

// RunControllers runs the controllers until ctx ends or one fails. The API server
// must serve. It should serve all custom resources, because the garbage collector
// discovers later resources only every 30 seconds.
func RunControllers(ctx context.Context, opts ControllerOptions) error {
	manager, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("creating the controllers' options: %w", err)
	}
	known, off, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	if err := parse(manager.Flags(known, off, aliases), opts.Flags()); err != nil {
		return fmt.Errorf("configuring the controllers: %w", err)
	}
	config, err := manager.Config(ctx, known, off, aliases)
	if err != nil {
		return fmt.Errorf("configuring the controllers: %w", err)
	}
	config.Kubeconfig.Wrap(func(next http.RoundTripper) http.RoundTripper { return legacyDiscovery{next} })
	return app.Run(ctx, config.Complete())
}

// legacyDiscovery requests the version of each API group that the APIServices prefer. Aggregated discovery prefers the newest
// version of every group, so that the controllers would convert add-ons, and could not delete a namespace with an add-on while no
// manager converts.
type legacyDiscovery struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d legacyDiscovery) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Path == "/api" || request.URL.Path == "/apis" {
		request = request.Clone(request.Context())
		request.Header.Set("Accept", "application/json")
	}
	return d.next.RoundTrip(request)
}
