// Command controller is a template for controllers that follow placements. It keeps a ConfigMap on the hub, in their namespace, for
// each cluster that a placement selected. Replace Controller.apply and Controller.remove by what yours does to a cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berth-project/berth/client/versioned"
)

var errNoNamespace = errors.New("--namespace is required: the namespace whose placements the controller follows")

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file of the hub; the service account of the pod if empty")
	namespace := flag.String("namespace", "", "namespace whose placements the controller follows")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the root of all contexts
	err := run(ctx, *kubeconfig, *namespace)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(1)
	}
}

// run runs the controller until the context ends.
func run(ctx context.Context, kubeconfig, namespace string) error {
	if namespace == "" {
		return errNoNamespace
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	clusters, err := versioned.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client of placements: %w", err)
	}
	controller, err := NewController(core, clusters, namespace)
	if err != nil {
		return err
	}
	return controller.Run(ctx)
}
