package limit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-project/berth/internal/views/limit"
)

// TestAUserDoesNotBlockAnother sends more requests of one user than there are slots. Each takes a minute. Another user must get
// a slot at once, and waiting users must get slots by turns.
func TestAUserDoesNotBlockAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := limit.NewFairLimiter(2, 1, 24)
		began := time.Now()
		var working sync.WaitGroup
		defer working.Wait()
		work := func(user string, waited chan<- time.Duration) {
			release, err := slots.Acquire(t.Context(), user)
			if err != nil {
				t.Errorf("Acquire for %s = %v", user, err)
				return
			}
			waited <- time.Since(began)
			<-time.After(time.Minute)
			release()
		}
		bomber, jane, joe := make(chan time.Duration, 24), make(chan time.Duration, 1), make(chan time.Duration, 1)
		for range 24 {
			working.Go(func() { work("bomber", bomber) })
		}
		synctest.Wait()
		working.Go(func() { work("jane", jane) })
		synctest.Wait()
		working.Go(func() { work("joe", joe) })
		if got := <-jane; got != 0 {
			t.Errorf("the second user waited %s, want a slot at once", got)
		}
		if got := <-joe; got > time.Minute {
			t.Errorf("the third user waited %s, want a slot before the second slot of another user", got)
		}
		for range 24 {
			<-bomber
		}
	})
}

func TestTooManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := limit.NewFairLimiter(1, 1, 2)
		release, err := slots.Acquire(t.Context(), "jane")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := slots.Acquire(ctx, "jane")
				ended <- err
			}()
		}
		synctest.Wait()
		if _, err := slots.Acquire(t.Context(), "jane"); !errors.Is(err, limit.ErrTooMany) {
			t.Errorf("Acquire = %v, want %v", err, limit.ErrTooMany)
		}
		cancel()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Acquire = %v, want a canceled context", err)
			}
		}
		release()
		again, err := slots.Acquire(t.Context(), "joe")
		if err != nil {
			t.Fatalf("Acquire = %v after every release", err)
		}
		again()
	})
}

// TestSlotsAreNeitherLostNorCreated acquires, cancels and releases slots for many users at random.
func TestSlotsAreNeitherLostNorCreated(t *testing.T) {
	const most, each = 4, 2
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 17))
			slots := limit.NewFairLimiter(most, each, 5)
			held, all := map[string]int{}, 0
			turns := make(chan struct{}, 1) // guards held and all
			change := func(user string, by int) {
				turns <- struct{}{}
				held[user] += by
				all += by
				if all > most || held[user] > each {
					t.Errorf("seed %d: %d slots are held, %d by one user", seed, all, held[user])
				}
				<-turns
			}
			for range 300 {
				user := fmt.Sprint(random.IntN(4))
				patience, effort := time.Duration(random.IntN(2000))*time.Millisecond, time.Duration(random.IntN(400))*time.Millisecond
				<-time.After(time.Duration(random.IntN(50)) * time.Millisecond)
				go func() {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					release, err := slots.Acquire(ctx, user)
					if err != nil {
						return
					}
					change(user, 1)
					<-time.After(effort)
					change(user, -1)
					release()
				}()
			}
			<-time.After(time.Hour)
			for number := range most {
				if _, err := slots.Acquire(t.Context(), fmt.Sprint("last", number)); err != nil {
					t.Errorf("seed %d: Acquire = %v with every slot free", seed, err)
				}
			}
		})
	}
}

func TestCounter(t *testing.T) {
	counter := limit.NewCounter(2, 3)
	one, _ := counter.Acquire("jane")
	if _, ok := counter.Acquire("jane"); !ok {
		t.Error("the second of a user is refused")
	}
	if _, ok := counter.Acquire("jane"); ok {
		t.Error("the third of a user is counted")
	}
	if _, ok := counter.Acquire("joe"); !ok {
		t.Error("the first of another user is refused")
	}
	if _, ok := counter.Acquire("jim"); ok {
		t.Error("the total exceeds its limit")
	}
	one()
	if _, ok := counter.Acquire("jim"); !ok {
		t.Error("a released slot is not free")
	}
}
