package reader

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// requestError adds to the error of a request what to do about it.
func (h *HubClient) requestError(err error, verb string, k Kind, namespace string) error {
	resource := k.Version.WithResource(k.resource).GroupResource().String()
	where := ""
	switch {
	case namespace != "":
		where = " in the namespace " + namespace
	case k.Namespaced:
		where = " in every namespace"
	}
	doing := "reading " + k.Plural()
	failed, atAll := errors.AsType[*url.Error](err)
	late := errors.Is(err, context.DeadlineExceeded) || atAll && failed.Timeout()
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case late:
		return fmt.Errorf("%s: the hub at %s did not answer in time: %w", doing, h.host, err)
	case atAll:
		return fmt.Errorf("%s: the hub at %s cannot be reached: %w", doing, h.host, failed.Err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: the hub at %s does not accept your credentials; log in again, or use another --context: %w", doing, h.host, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: the right to %s %s%s is missing; ask for a role that gives it: %w", doing, verb, resource, where, err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: this hub has no %s API (%s): install Berth's CRDs, those in config/crd, or use another --context",
			doing, k.Kind, k.Version)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}
