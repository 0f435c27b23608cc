package work

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/remote"
	"github.com/berth-project/berth/internal/agent/work/report"
)

// failureOf returns the failure of a request about an object.
func failureOf(err error, id object.ID, hash string, attempts int, now time.Time) plan.Failure {
	code := codeOf(err)
	return plan.Failure{
		Hash: hash, Code: code, Message: report.Cut(messageOf(err, id)) + nextOf(code),
		Until: now.Add(retryAfter(code, attempts)),
	}
}

// nextOf returns when a failure is tried again. It names no instant, so that the status stays as it is.
func nextOf(code plan.Code) string {
	switch {
	case code == plan.Forbidden || code == plan.Conflicting:
		return "; tried again every minute"
	case code.Final():
		return "; another manifest is tried at once"
	default:
		return "; tried again after 2 seconds, and later every 5 minutes"
	}
}

func codeOf(err error) plan.Code {
	if _, ignore := errors.AsType[remote.IgnoreError](err); ignore {
		return plan.Invalid
	}
	switch {
	case apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		return plan.Conflicting
	case apierrors.HasStatusCause(err, "NamespaceTerminating"):
		return plan.Unavailable
	case apierrors.IsForbidden(err):
		return plan.Forbidden
	case apierrors.IsRequestEntityTooLargeError(err):
		return plan.TooLarge
	case apierrors.IsInvalid(err) && immutable(err):
		return plan.Immutable
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), malformed(err):
		return plan.Invalid
	default:
		return plan.Unavailable
	}
}

// immutable returns whether a field cannot change. The API server has no code for it, only these words in the message of the field.
func immutable(err error) bool {
	return slices.ContainsFunc(causes(err), func(cause metav1.StatusCause) bool {
		return slices.ContainsFunc([]string{"immutable", "may not change", "cannot change", "for fields other than"}, func(words string) bool {
			return strings.Contains(cause.Message, words)
		})
	})
}

// malformed returns whether a manifest does not fit the schema of its kind: it has an unknown field, or one key twice in a list.
// The API server has no code for it.
func malformed(err error) bool {
	return apierrors.ReasonForError(err) != metav1.StatusReasonConflict && strings.Contains(err.Error(), "failed to create typed patch object")
}

func causes(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// messageOf returns the message of an error. The messages about a Secret may hold its values, so only the names of the fields are kept.
func messageOf(err error, id object.ID) string {
	if id.Group != "" || id.Resource != "secrets" {
		return err.Error() + adviceOf(err)
	}
	if by, _, denied := strings.Cut(strings.ReplaceAll(err.Error(), " denied the request", " denied request"), " denied request"); denied {
		return by + " denied the Secret" // a webhook or a policy may quote what it denies
	}
	if apierrors.IsForbidden(err) && namesOnly(err) || apierrors.IsNotFound(err) {
		return err.Error()
	}
	var fields []string
	for _, cause := range causes(err) {
		fields = append(fields, cause.Field)
	}
	if _, ignore := errors.AsType[remote.IgnoreError](err); ignore {
		return "the fields to ignore of the Secret could not be read"
	}
	reason, code := apierrors.ReasonForError(err), int32(0)
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code = status.Status().Code
	}
	if code == 0 {
		return "the member did not respond"
	}
	if malformed(err) {
		return "the manifest does not fit the schema of a Secret"
	}
	slices.Sort(fields)
	return strings.TrimSpace(fmt.Sprintf("the member refuses the Secret: %s (%d %s) %s", reason, code, http.StatusText(int(code)),
		strings.Join(slices.Compact(fields), ", "))) + adviceOf(err)
}

// namesOnly returns whether a refusal is one of the API server itself, with names of users and objects but no value.
func namesOnly(err error) bool {
	return slices.ContainsFunc([]string{`is forbidden: User "`, "because it is being terminated", "exceeded quota: "},
		func(words string) bool {
			return strings.Contains(err.Error(), words)
		})
}

// adviceOf returns what to do about an error that a retry does not mend.
func adviceOf(err error) string {
	switch {
	case apierrors.IsInvalid(err) && immutable(err):
		return "; the field cannot change: keep its value, give the object another name, or delete the object on the member"
	case strings.Contains(err.Error(), "duplicate entries for key"):
		return "; the list has this key twice: remove one entry, or merge both"
	default:
		return ""
	}
}
