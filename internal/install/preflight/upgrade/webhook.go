package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	berthNamespace = "berth-system"
	berthAccount   = "berth"
	apiGroup       = "cluster.open-cluster-management.io"
	familySuffix   = ".open-cluster-management.io"
)

// ownWebhooks is the name of Berth's own configurations. On an embedded hub they name a URL.
const ownWebhooks = "berth"

// hook is a webhook of another product on the kinds of clusters.
type hook struct {
	// object names its configuration, resource the kubectl resource of it.
	object, resource, name string
	required               bool
	service                *admissionregistrationv1.ServiceReference
}

// webhooks finds the webhooks of other products that review writes of clusters and placements.
func (c *check) webhooks(ctx context.Context) error {
	mutating := &admissionregistrationv1.MutatingWebhookConfigurationList{}
	if err := c.hub.List(ctx, mutating); err != nil {
		return fmt.Errorf("listing mutating webhooks: %w", err)
	}
	validating := &admissionregistrationv1.ValidatingWebhookConfigurationList{}
	if err := c.hub.List(ctx, validating); err != nil {
		return fmt.Errorf("listing validating webhooks: %w", err)
	}
	var found []hook
	for _, configuration := range mutating.Items {
		for _, w := range configuration.Webhooks {
			if reviews(w.Rules) {
				found = append(found, newHook("MutatingWebhookConfiguration", configuration.Name, w.FailurePolicy, w.ClientConfig.Service))
			}
		}
	}
	for _, configuration := range validating.Items {
		for _, w := range configuration.Webhooks {
			if reviews(w.Rules) {
				found = append(found, newHook("ValidatingWebhookConfiguration", configuration.Name, w.FailurePolicy, w.ClientConfig.Service))
			}
		}
	}
	for _, w := range found {
		if err := c.webhook(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

func newHook(kind, name string, policy *admissionregistrationv1.FailurePolicyType, service *admissionregistrationv1.ServiceReference) hook {
	return hook{
		object: kind + " " + name, resource: strings.ToLower(kind), name: name,
		required: policy == nil || *policy == admissionregistrationv1.Fail, service: service,
	}
}

// reviews reports whether rules name the group of clusters and placements.
func reviews(rules []admissionregistrationv1.RuleWithOperations) bool {
	return slices.ContainsFunc(rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		return slices.Contains(rule.APIGroups, apiGroup)
	})
}

// webhook reports one webhook. One without an endpoint refuses every write.
func (c *check) webhook(ctx context.Context, w hook) error {
	if w.name == ownWebhooks && w.service == nil {
		return nil
	}
	if w.service == nil {
		c.report.note(w.object, "it reviews writes of the same objects", "delete it before its server is turned off")
		return nil
	}
	if w.service.Namespace == berthNamespace {
		return nil
	}
	service := w.service.Namespace + "/" + w.service.Name
	serves, err := c.hasEndpoint(ctx, w.service.Namespace, w.service.Name)
	switch {
	case err != nil:
		return err
	case !serves && w.required:
		c.report.step(CauseHub, w.object, "its Service "+service+" has no ready endpoint, so the API server refuses every write that it reviews",
			"kubectl delete "+w.resource+" "+w.name)
	default:
		c.report.note(w.object, "it reviews writes beside Berth",
			"kubectl delete "+w.resource+" "+w.name+", before the Deployment behind Service "+service+" is turned off")
	}
	return nil
}

// conversions finds the definitions whose versions another product converts. Berth leaves these conversions as they are.
func (c *check) conversions(ctx context.Context) error {
	list := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.hub.List(ctx, list); err != nil {
		return fmt.Errorf("listing definitions: %w", err)
	}
	for _, definition := range list.Items {
		conversion := definition.Spec.Conversion
		if !strings.HasSuffix(definition.Spec.Group, familySuffix) || conversion == nil || conversion.Webhook == nil ||
			conversion.Webhook.ClientConfig == nil || conversion.Webhook.ClientConfig.Service == nil {
			continue
		}
		to := conversion.Webhook.ClientConfig.Service
		if to.Namespace == berthNamespace {
			continue
		}
		object, service := "CustomResourceDefinition "+definition.Name, to.Namespace+"/"+to.Name
		serves, err := c.hasEndpoint(ctx, to.Namespace, to.Name)
		switch {
		case err != nil:
			return err
		case serves:
			c.report.note(object, "another product converts its versions", "leave the Deployment behind Service "+service+" running")
		default:
			c.report.step(CauseHub, object, "its conversion webhook, Service "+service+
				", has no ready endpoint, so its objects cannot be read in every version",
				"start the Deployment behind the Service, or remove spec.conversion so that Berth converts")
		}
	}
	return nil
}

// hasEndpoint reports whether a Service has an endpoint that is ready.
func (c *check) hasEndpoint(ctx context.Context, namespace, service string) (bool, error) {
	list := &discoveryv1.EndpointSliceList{}
	err := c.hub.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service})
	if err != nil {
		return false, fmt.Errorf("listing the endpoints of Service %s/%s: %w", namespace, service, err)
	}
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
				return true, nil
			}
		}
	}
	return false, nil
}
