package work

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/admission/permission"
	"github.com/berth-project/berth/internal/admission/review"
)

// NilExecutor is what happens to a work without an executor, which the agent applies with its own permissions.
type NilExecutor string

const (
	// NilExecutorIgnore accepts it.
	NilExecutorIgnore NilExecutor = "ignore"
	// NilExecutorWarn accepts it with a warning.
	NilExecutorWarn NilExecutor = "warn"
	// NilExecutorReview reviews the user as for any executor, under the name of the agent's account.
	NilExecutorReview NilExecutor = "review"
)

// NilExecutors returns all values.
func NilExecutors() []string {
	return []string{string(NilExecutorIgnore), string(NilExecutorWarn), string(NilExecutorReview)}
}

const (
	// executeAs is the verb on manifestworks by which a user lets agents act as a service account.
	executeAs = "execute-as"
	// agentAccount is the name of the agent's own account in reviews. It has no namespace, since each member has its own.
	agentAccount = "klusterlet-work-sa"

	nilExecutorWarning = "spec.executor is not set, so the agent applies the manifests with its own permissions; set it to a " +
		"service account of the member"
)

// executor is the account that a spec makes agents act as. A spec without an executor has that of the agent itself.
type executor struct{ namespace, name string }

func executorOf(spec *workv1.ManifestWorkSpec) executor {
	if spec.Executor == nil || spec.Executor.Subject.ServiceAccount == nil {
		return executor{name: agentAccount}
	}
	account := spec.Executor.Subject.ServiceAccount
	return executor{account.Namespace, account.Name}
}

// review rejects a write of a user who may not make agents act as the executor in a namespace. The API server itself does the
// review, so all of its authorizers count, with the groups, the UID and the extra of the user.
func (e executor) review(
	ctx context.Context, rights permission.Checker, user authenticationv1.UserInfo, of schema.GroupResource, namespace, name string,
) error {
	account := fmt.Sprintf("system:serviceaccount:%s:%s", e.namespace, e.name)
	held, err := rights.Allowed(ctx, user, authorizationv1.ResourceAttributes{
		Verb: executeAs, Group: workv1.GroupName, Resource: "manifestworks", Namespace: namespace, Name: account,
	})
	if err != nil || held {
		return err
	}
	return review.Forbidden(of, name, fmt.Sprintf(
		"user %s cannot manipulate the Manifestwork with executor %s/%s in namespace %s: this needs the verb %q on \"manifestworks\" in the API "+
			"group %q with the resourceName %q",
		user.Username, e.namespace, e.name, namespace, executeAs, workv1.GroupName, account))
}
