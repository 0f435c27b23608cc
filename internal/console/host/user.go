package host

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/status"
)

const (
	// maxUsers is how many users have a reader at the same time. The reader that was idle longest is dropped.
	maxUsers = 64
	// permissionTime is how long a state shows what permissions allowed when it was built.
	permissionTime = 30 * time.Second
)

var errNoUser = errors.New("the request has no user")

type userKey struct{}

func withUser(ctx context.Context, who user.Info) context.Context {
	return context.WithValue(ctx, userKey{}, who)
}

// users has the readers of the users that look at pages.
type users struct {
	options    Options
	objects    client.Reader
	authorizer authorizer.Authorizer
	changes    *changes
	states     *states
	// hub reads how the hub is, with the rights of the manager.
	hub *status.Reader

	mu      sync.Mutex
	readers map[string]*reader
}

func newUsers(options Options, objects client.Reader, by authorizer.Authorizer, changes *changes) *users {
	return &users{options: options, objects: objects, authorizer: by, changes: changes, states: newStates(), readers: map[string]*reader{}}
}

// session returns what the user of a request may read. There is nothing to write.
func (u *users) session(r *http.Request) (console.Session, error) {
	who, ok := r.Context().Value(userKey{}).(user.Info)
	if !ok {
		return console.Session{}, errNoUser
	}
	found := u.readerOf(who)
	out := console.Session{User: who.GetName(), Reader: found, Members: found, Hub: found, Place: "manager, as " + who.GetName()}
	if u.options.Deliveries != nil {
		out.Deliveries = found
	}
	return out, nil
}

// readerOf returns the reader of a user with its groups.
func (u *users) readerOf(who user.Info) *reader {
	groups := slices.Sorted(slices.Values(who.GetGroups()))
	key := strings.Join(append([]string{who.GetName()}, groups...), "\x00")
	now := u.options.Clock.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	found := u.readers[key]
	if found == nil {
		if len(u.readers) >= maxUsers {
			u.forgetOldest()
		}
		found = &reader{users: u, who: who}
		u.readers[key] = found
	}
	found.used = now
	return found
}

// forgetOldest removes the reader that was used longest ago. The caller holds the lock.
func (u *users) forgetOldest() {
	oldest := ""
	for key, each := range u.readers {
		if oldest == "" || each.used.Before(u.readers[oldest].used) {
			oldest = key
		}
	}
	delete(u.readers, oldest)
}
