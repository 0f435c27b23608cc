package embed

import (
	"context"
	"fmt"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// SchedulerFlags are the settings of the only scheduler of a control plane.
func SchedulerFlags(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	}
}

// RunScheduler assigns pods to nodes until ctx ends or it fails. The kubeconfig contains its identity. The API server must serve.
func RunScheduler(ctx context.Context, kubeconfig string) error {
	scheduler := options.NewOptions()
	if err := parse(*scheduler.Flags, SchedulerFlags(kubeconfig)); err != nil {
		return fmt.Errorf("configuring the scheduler: %w", err)
	}
	completed, instance, err := app.Setup(ctx, scheduler)
	if err != nil {
		return fmt.Errorf("configuring the scheduler: %w", err)
	}
	if err := app.Run(ctx, completed, instance); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
