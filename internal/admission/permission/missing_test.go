package permission_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/berth-project/berth/internal/admission/permission"
)

// fakeChecker blocks each call until the test opens it, and counts the waiting calls.
type fakeChecker struct {
	open    chan struct{}
	refuses []string
	fails   []string

	mu            sync.Mutex
	waiting, most int
	reviewed      map[string]int
}

func newFakeChecker() *fakeChecker {
	return &fakeChecker{open: make(chan struct{}), reviewed: map[string]int{}}
}

// Allowed implements permission.Checker.
func (f *fakeChecker) Allowed(_ context.Context, _ authenticationv1.UserInfo, about authorizationv1.ResourceAttributes) (bool, error) {
	f.mu.Lock()
	f.reviewed[about.Name]++
	f.waiting++
	f.most = max(f.most, f.waiting)
	f.mu.Unlock()
	<-f.open
	f.mu.Lock()
	f.waiting--
	f.mu.Unlock()
	if slices.Contains(f.fails, about.Name) {
		return false, errBoom
	}
	return !slices.Contains(f.refuses, about.Name), nil
}

// permissionsNamed returns needs. A broad permission, which the user lacks, satisfies each need, and so does a permission with the number
// of the need as its name.
func permissionsNamed(count int) [][]permission.Permission {
	var out [][]permission.Permission
	for i := range count {
		out = append(out, []permission.Permission{{Name: "broad"}, {Name: strconv.Itoa(i)}})
	}
	return out
}

func TestFirstMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		refuses, fails []string
		want           int
		wantErr        error
	}{
		"nothing":                              {want: -1},
		"the first":                            {refuses: []string{"0"}, want: 0},
		"the last":                             {refuses: []string{"999"}, want: 999},
		"the first of many":                    {refuses: []string{"700", "503", "502", "501"}, want: 501},
		"a need before one whose lookup fails": {refuses: []string{"501"}, fails: []string{"502"}, want: 501},
		"a need after one whose lookup fails":  {refuses: []string{"502"}, fails: []string{"501"}, wantErr: errBoom},
		"the broad lookup fails":               {fails: []string{"broad"}, wantErr: errBoom},
	} {
		t.Run(name, func(t *testing.T) {
			to := newFakeChecker()
			to.refuses, to.fails = append([]string{"broad"}, tc.refuses...), tc.fails
			close(to.open)
			got, err := permission.FirstMissing(t.Context(), permission.NewRequestAuthorizer(authenticationv1.UserInfo{}, to),
				permissionsNamed(1000))
			if !errors.Is(err, tc.wantErr) || err == nil && got != tc.want {
				t.Errorf("FirstMissing = %d, %v, want %d, %v", got, err, tc.want, tc.wantErr)
			}
			for name, times := range to.reviewed {
				if times > 1 {
					t.Errorf("reviewed %q %d times, want once", name, times)
				}
			}
			if tc.want == 0 && tc.wantErr == nil && len(to.reviewed) != 2 {
				t.Errorf("reviewed %d permissions, want two: a user without any gets the error at once", len(to.reviewed))
			}
		})
	}
}

// TestParallelLookUpsAreBounded checks that the first need is looked up alone, and the others in parallel up to the bound.
func TestParallelLookUpsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newFakeChecker()
		to.refuses = []string{"broad"}
		done := make(chan int)
		go func() {
			at, err := permission.FirstMissing(t.Context(), permission.NewRequestAuthorizer(authenticationv1.UserInfo{}, to), permissionsNamed(100))
			if err != nil {
				t.Error(err)
			}
			done <- at
		}()
		for _, want := range []int{1, 1, 16, 16} {
			synctest.Wait()
			if to.waiting != want {
				t.Errorf("%d reviews run at the same time, want %d", to.waiting, want)
			}
			for range want {
				to.open <- struct{}{}
			}
		}
		close(to.open)
		if at := <-done; at != -1 || to.most != 16 || len(to.reviewed) != 101 {
			t.Errorf("FirstMissing = %d, at most %d at the same time, %d permissions, want -1, 16 and 101", at, to.most, len(to.reviewed))
		}
	})
}

// TestConcurrentCallersShareOneReview checks that a lookup waits for a review of the same permission that has started.
func TestConcurrentCallersShareOneReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newFakeChecker()
		holder := permission.NewRequestAuthorizer(authenticationv1.UserInfo{}, to)
		for range 3 {
			go func() {
				if held, err := holder.HasAny(t.Context(), permission.Permission{Name: "a"}); !held || err != nil {
					t.Errorf("HasAny = %v, %v, want the permission", held, err)
				}
			}()
		}
		synctest.Wait()
		close(to.open)
		synctest.Wait()
		if to.reviewed["a"] != 1 {
			t.Errorf("reviewed %d times, want once", to.reviewed["a"])
		}
	})
}
