package storage

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/berth-project/berth/internal/access"
	"github.com/berth-project/berth/internal/apiserver/history"
	"github.com/berth-project/berth/internal/apiserver/visibility"
)

// List implements rest.Lister. It never says how many items remain.
func (s *Storage) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	moment, after, err := s.page(who, options)
	if err != nil {
		return nil, err
	}
	keep := selected(options)
	items := []runtime.Object{}
	last := ""
	for entry := range moment.World.ViewFor(who).Objects(s.kind, after) {
		if !keep(entry.Object) {
			continue
		}
		if options.Limit > 0 && int64(len(items)) == options.Limit {
			next, err := token(last, moment.Revision)
			if err != nil {
				return nil, err
			}
			return s.list(items, moment.Revision, next)
		}
		items = append(items, s.at(entry.Object, entry.Revision))
		last = entry.Object.GetName()
	}
	return s.list(items, moment.Revision, "")
}

// page returns the moment that a list is of, and the name after which it starts.
func (s *Storage) page(who access.Subject, options *metainternalversion.ListOptions) (moment history.Moment, after string, err error) {
	if options.Continue != "" {
		revision, after, err := position(options.Continue)
		if err != nil {
			return history.Moment{}, "", err
		}
		moment, err = s.past(who, revision)
		return moment, after, err
	}
	if options.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		revision, err := number(options.ResourceVersion)
		if err != nil {
			return history.Moment{}, "", err
		}
		moment, err = s.past(who, revision)
		return moment, "", err
	}
	if err := s.reachable(options.ResourceVersion); err != nil {
		return history.Moment{}, "", err
	}
	moment, _ = s.history.Now()
	return moment, "", nil
}

// past returns the moment of a revision, unless the caller's rights have changed since: nobody may look back at what he
// may not see any more.
func (s *Storage) past(who access.Subject, revision uint64) (history.Moment, error) {
	moment, err := s.history.At(revision)
	if err != nil {
		return history.Moment{}, expired()
	}
	now, _ := s.history.Now()
	if !moment.World.Permissions(who).Equal(now.World.Permissions(who)) {
		return history.Moment{}, expired()
	}
	return moment, nil
}

// tokenPrefix stands before names in the tokens of Kubernetes' own format.
const tokenPrefix = "/"

// token says where the next page starts: after a name.
func token(after string, revision uint64) (string, error) {
	out, err := storage.EncodeContinue(tokenPrefix+after, tokenPrefix, int64(revision)) //nolint:gosec // until the year 2109
	if err != nil {
		return "", fmt.Errorf("naming the next page: %w", err)
	}
	return out, nil
}

func position(token string) (revision uint64, after string, err error) {
	key, number, err := storage.DecodeContinue(token, tokenPrefix)
	if err != nil || number < 0 {
		return 0, "", apierrors.NewBadRequest("the continue key is not one that this server gave")
	}
	return uint64(number), key[len(tokenPrefix):], nil
}

// selected returns whether an object is asked for by labels and name.
func selected(options *metainternalversion.ListOptions) func(visibility.Object) bool {
	labelSelector, fieldSelector := labels.Everything(), fields.Everything()
	if options.LabelSelector != nil {
		labelSelector = options.LabelSelector
	}
	if options.FieldSelector != nil {
		fieldSelector = options.FieldSelector
	}
	return func(object visibility.Object) bool {
		return labelSelector.Matches(labels.Set(object.GetLabels())) &&
			fieldSelector.Matches(fields.Set{metav1.ObjectNameField: object.GetName()})
	}
}
