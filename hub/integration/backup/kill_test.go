//go:build slow

package backup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	writers = 8
	// objectsPerWriter is small, so that most writes are updates.
	objectsPerWriter = 5
	// maxWrites bounds the time between the start and the kill of a hub, in acknowledged writes of each writer.
	maxWrites = 40
)

// writer writes ConfigMaps of its own, one write at a time, and records what was acknowledged.
type writer struct {
	name string
	// acknowledged and revision are the number in the last acknowledged write of each object, and its resource version. tried is the number
	// in the last write, acknowledged or not.
	acknowledged, tried [objectsPerWriter]int
	revision            [objectsPerWriter]uint64
}

func (w *writer) object(number int) string { return fmt.Sprintf("%s-%d", w.name, number) }

// run writes until a write fails, or the hub is to be killed by this writer.
func (w *writer) run(ctx context.Context, client kubernetes.Interface, writes int, kill func()) {
	configMaps := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	for i := range writes {
		number := i % objectsPerWriter
		w.tried[number]++
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: w.object(number)},
			Data:       map[string]string{"number": strconv.Itoa(w.tried[number])},
		}
		out, err := configMaps.Update(ctx, object, metav1.UpdateOptions{})
		if w.revision[number] == 0 && err != nil {
			out, err = configMaps.Create(ctx, object, metav1.CreateOptions{})
		}
		if err != nil {
			return
		}
		w.acknowledged[number] = w.tried[number]
		w.revision[number], _ = strconv.ParseUint(out.ResourceVersion, 10, 64) // 0 fails the test later
	}
	kill()
}

// check compares what is stored with what was acknowledged. A write that was not acknowledged may be stored.
func (w *writer) check(t *testing.T, round int, stored map[string]corev1.ConfigMap) {
	t.Helper()
	for number := range objectsPerWriter {
		if w.acknowledged[number] == 0 {
			continue
		}
		object, ok := stored[w.object(number)]
		value, errValue := strconv.Atoi(object.Data["number"])
		revision, errRevision := strconv.ParseUint(object.ResourceVersion, 10, 64)
		if !ok || errValue != nil || errRevision != nil || w.revision[number] == 0 {
			t.Fatalf("round %d: %s is missing or unreadable: %v", round, w.object(number), object)
		}
		if value < w.acknowledged[number] || value > w.tried[number] || revision < w.revision[number] {
			t.Errorf("round %d: %s is number %d at revision %d; number %d at revision %d was acknowledged, and %d tried",
				round, w.object(number), value, revision, w.acknowledged[number], w.revision[number], w.tried[number])
		}
		w.tried[number] = value // a write that was lost is written again
	}
}

// TestNothingAcknowledgedIsMissingAfterKills kills a hub in the middle of writes, again and again. It starts each time.
func TestNothingAcknowledgedIsMissingAfterKills(t *testing.T) {
	rounds := 10
	if hubtest.LongTests() {
		rounds = 100
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	data := filepath.Join(t.TempDir(), "data")
	all := make([]*writer, writers)
	for i := range all {
		all[i] = &writer{name: fmt.Sprintf("writer-%d", i)}
	}
	for round := range rounds {
		hub := hubtest.New(t, hubtest.Options{DataDir: data})
		requireAcknowledged(t, round, hub, all)
		killed := 1 + random.IntN(maxWrites)
		var running sync.WaitGroup
		kill := sync.OnceFunc(hub.Kill)
		client := hub.Client(t)
		for _, w := range all {
			running.Go(func() { w.run(t.Context(), client, killed, kill) })
		}
		running.Wait()
		hub.Kill()
	}
	hub := hubtest.New(t, hubtest.Options{DataDir: data})
	requireAcknowledged(t, rounds, hub, all)
	written := 0
	for _, w := range all {
		for _, number := range w.acknowledged {
			written += number
		}
	}
	t.Logf("%d writes over %d kills", written, rounds)
	if written < rounds*writers {
		t.Errorf("only %d writes were acknowledged", written)
	}
}

func requireAcknowledged(t *testing.T, round int, hub *hubtest.Hub, all []*writer) {
	t.Helper()
	list := kit.Must(hub.Client(t).CoreV1().ConfigMaps(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})).In(t)
	stored := map[string]corev1.ConfigMap{}
	for _, object := range list.Items {
		stored[object.Name] = object
	}
	for _, w := range all {
		w.check(t, round, stored)
	}
}
