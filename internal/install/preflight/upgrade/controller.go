package upgrade

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/membership/registration/ocm"
)

const (
	operatorNamespace = "open-cluster-management"
	hubNamespace      = "open-cluster-management-hub"
)

// Controller is a Deployment of Open Cluster Management.
type Controller struct {
	Namespace, Name string
	// Conflict is what follows from running it beside Berth; empty where it has to go on running.
	Conflict string
	// Optional is set where Berth may start beside it.
	Optional bool
}

// Controllers returns the Deployments of Open Cluster Management in the order in which they are turned off. The operator is first, because
// it starts the others again. The decisions are next, because two controllers of placements overwrite each other.
func Controllers() []Controller {
	return []Controller{
		{Namespace: operatorNamespace, Name: "cluster-manager", Conflict: "this operator starts the other controllers again"},
		{Namespace: hubNamespace, Name: "cluster-manager-placement-controller", Conflict: "it and Berth overwrite each other's decisions"},
		{Namespace: hubNamespace, Name: "cluster-manager-registration-controller", Conflict: "Berth registers no cluster while it runs"},
		{
			Namespace: hubNamespace, Name: "cluster-manager-work-controller", Conflict: "Berth keeps no sets of works while it runs",
			Optional: true,
		},
		{Namespace: hubNamespace, Name: "cluster-manager-addon-manager-controller"},
	}
}

// controllers finds the running controllers of Open Cluster Management.
func (c *check) controllers(ctx context.Context) error {
	for _, known := range Controllers() {
		object := "Deployment " + known.Namespace + "/" + known.Name
		found := &appsv1.Deployment{}
		err := c.hub.Get(ctx, client.ObjectKey{Namespace: known.Namespace, Name: known.Name}, found)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("reading %s: %w", object, err)
		case found.Spec.Replicas != nil && *found.Spec.Replicas == 0:
		case known.Conflict == "":
			c.report.note(object, "it runs", "leave it running: Berth does not do its work")
		case known.Optional:
			c.report.Notes = append(c.report.Notes, Finding{
				object, "it runs: " + known.Conflict, "leave it running, or: " + scaleDown(known.Namespace, known.Name), CauseController,
			})
		default:
			c.report.step(CauseController, object, "it runs: "+known.Conflict, scaleDown(known.Namespace, known.Name))
		}
	}
	return c.registrationElsewhere(ctx)
}

// registrationElsewhere finds the registration controller by its lease, where it runs outside of the hub or has not ended yet.
func (c *check) registrationElsewhere(ctx context.Context) error {
	found, err := ocm.Find(ctx, c.hub, ocm.Registration(), c.now)
	if err != nil {
		return err //nolint:wrapcheck // it names the object
	}
	if strings.HasPrefix(found, "Lease ") {
		c.report.step(CauseController, found, "the registration controller still holds it: it runs elsewhere, or has just ended",
			"stop it, or wait until five minutes after its last renewal")
	}
	return nil
}

func scaleDown(namespace, name string) string {
	return "kubectl -n " + namespace + " scale deployment " + name + " --replicas=0"
}
