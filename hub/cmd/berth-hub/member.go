package main

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/berth-project/berth/hub/internal/cli"
	"github.com/berth-project/berth/internal/agent"
	"github.com/berth-project/berth/internal/agent/credential"
)

// agentName is the name of the agent of a member in the box. A fixed name keeps the user of the agent over a new bootstrap.
const agentName = "berth-hub"

// runAgent runs the agent of a member. It logs into the log of the member.
func runAgent(ctx context.Context, member cli.Agent) error {
	options := agent.DefaultOptions()
	options.Names = credential.Names{Cluster: member.Cluster, Agent: agentName}
	options.HubKubeconfigDir, options.BootstrapKubeconfig, options.MemberKubeconfig = member.Dir, member.Bootstrap, member.Kubeconfig
	options.Driver, options.HealthAddress = member.Driver, disabledAddress
	options.ReportUsage, options.UsageInterval = member.ReportUsage, member.UsageInterval
	options.Logger = slog.New(logr.ToSlogHandler(klog.Background()))
	return agent.Run(ctx, options)
}
