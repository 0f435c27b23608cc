package certificate

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// certDir holds the files of a certificate.
type certDir string

func (c certDir) files() Files {
	return Files{CertFile: c.path("tls.crt"), KeyFile: c.path("tls.key"), CAFile: c.path("ca.crt")}
}

func (c certDir) path(name string) string { return filepath.Join(string(c), name) }

func (c certDir) write(t *testing.T, p *keyPair, authorities ...[]byte) {
	t.Helper()
	for name, content := range map[string][]byte{"tls.crt": p.certificate, "tls.key": p.key, "ca.crt": bytes.Join(authorities, nil)} {
		if err := os.WriteFile(c.path(name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// newFile returns a Source for a folder, and its clock.
func newFile(t *testing.T, files Files, begin time.Time) (*File, *clocktesting.FakeClock) {
	t.Helper()
	clock := clocktesting.NewFakeClock(begin)
	f := &File{
		served: newServed(), files: files, names: []string{"svc"}, clock: clock,
		publisher: fakePublisher{&fakeAPIServer{}, []string{"svc"}},
	}
	f.state.Store(&fileState{})
	if err := f.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f, clock
}

// expectServed checks the served key pair and the published CAs.
func (f *File) expectServed(t *testing.T, when string, served *keyPair, authorities ...[]byte) {
	t.Helper()
	if !f.pair.Load().equal(served) {
		t.Errorf("%s: another certificate is served", when)
	}
	if got := f.state.Load().caBundle(); !bytes.Equal(got, bytes.Join(authorities, nil)) {
		t.Errorf("%s: trusted are\n%s", when, got)
	}
}

// enqueueCounter counts calls of Enqueue.
type enqueueCounter int

func (c *enqueueCounter) Enqueue() { *c++ }

// TestFilesChange replaces a certificate and its CA at once, as cert-manager does.
func TestFilesChange(t *testing.T) {
	first, second := newKeyPair(t, "svc"), newKeyPair(t, "svc")
	dir := certDir(t.TempDir())
	dir.write(t, first, first.caBundle)
	f, clock := newFile(t, dir.files(), first.createdAt)
	changes := enqueueCounter(0)
	f.AddListener(&changes)
	at := func(step time.Duration) {
		t.Helper()
		clock.Step(step)
		if err := f.sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f.expectServed(t, "at the start", first, first.caBundle)
	at(pollInterval)
	f.expectServed(t, "unchanged", first, first.caBundle)
	dir.write(t, second, second.caBundle)
	at(pollInterval)
	f.expectServed(t, "changed", first, first.caBundle, second.caBundle)
	at(trustDelay - time.Second)
	f.expectServed(t, "before the overlap has passed", first, first.caBundle, second.caBundle)
	at(time.Second)
	f.expectServed(t, "after the overlap", second, second.caBundle, first.caBundle)
	at(trustDelay - time.Second)
	f.expectServed(t, "while other replicas may serve the former", second, second.caBundle, first.caBundle)
	at(time.Second)
	f.expectServed(t, "after another overlap", second, second.caBundle)
	if changes != 1 {
		t.Errorf("got %d changes, want one", changes)
	}
}

func TestFilesChangeInOtherWays(t *testing.T) {
	first, second, third := newKeyPair(t, "svc"), newKeyPair(t, "svc"), newKeyPair(t, "svc")
	type step struct {
		after time.Duration
		put   func(certDir)
	}
	puts := func(p *keyPair, authorities ...[]byte) func(certDir) {
		return func(d certDir) { d.write(t, p, append(authorities, p.caBundle)...) }
	}
	nothing := func(certDir) {}
	for sentence, test := range map[string]struct {
		// ends is how long the first certificate lasts.
		ends    time.Duration
		steps   []step
		served  *keyPair
		trusted [][]byte
	}{
		"another authority beside that of the same certificate is trusted at once": {
			lifetime / 2,
			[]step{{pollInterval, puts(first, second.caBundle)}},
			first,
			[][]byte{second.caBundle, first.caBundle},
		},
		"what goes back was never there": {
			lifetime / 2,
			[]step{{pollInterval, puts(second)}, {pollInterval, puts(first)}, {trustDelay, nothing}},
			first,
			[][]byte{first.caBundle},
		},
		"a second change waits anew": {
			lifetime / 2,
			[]step{{pollInterval, puts(second)}, {pollInterval, puts(third)}, {trustDelay - pollInterval, nothing}},
			first,
			[][]byte{first.caBundle, third.caBundle},
		},
		"what has waited is served though the files are broken": {
			lifetime / 2,
			[]step{{pollInterval, puts(second)}, {trustDelay, func(d certDir) { _ = os.Remove(d.path("tls.crt")) }}},
			second,
			[][]byte{second.caBundle, first.caBundle},
		},
		"a certificate that expires soon stays as long as it can": {
			trustDelay / 2,
			[]step{{0, puts(second)}, {trustDelay/2 - expiryMargin - time.Second, nothing}},
			first,
			[][]byte{first.caBundle, second.caBundle},
		},
		"a certificate that expires soon is replaced in time": {
			trustDelay / 2,
			[]step{{0, puts(second)}, {trustDelay/2 - expiryMargin, nothing}},
			second,
			[][]byte{second.caBundle, first.caBundle},
		},
		"a certificate that expires at once stays until then, since the next is not trusted": {
			pollInterval,
			[]step{{0, puts(second)}, {pollInterval - time.Second, nothing}},
			first,
			[][]byte{first.caBundle, second.caBundle},
		},
		"an expired certificate is replaced": {
			pollInterval,
			[]step{{0, puts(second)}, {pollInterval, nothing}},
			second,
			[][]byte{second.caBundle, first.caBundle},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := certDir(t.TempDir())
			puts(first)(dir)
			f, clock := newFile(t, dir.files(), first.notAfter.Add(-test.ends))
			for _, step := range test.steps {
				clock.Step(step.after)
				step.put(dir)
				_ = f.sync(t.Context()) // errors of broken files do not matter here
			}
			f.expectServed(t, "then", test.served, test.trusted...)
		})
	}
}

// TestFilesWithoutCAAreServedAtOnce: the program that publishes the CA does not wait for the manager.
func TestFilesWithoutCAAreServedAtOnce(t *testing.T) {
	first, second := newKeyPair(t, "svc"), newKeyPair(t, "svc")
	dir := certDir(t.TempDir())
	dir.write(t, first)
	files := dir.files()
	files.CAFile = ""
	f, _ := newFile(t, files, first.createdAt)
	dir.write(t, second)
	if err := f.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.expectServed(t, "changed", second)
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	good, other, unnamed := newKeyPair(t, "svc"), newKeyPair(t, "svc"), newKeyPair(t, "else")
	for sentence, test := range map[string]struct {
		put  func(certDir)
		want []string
	}{
		"none there": {func(d certDir) { _ = os.Remove(d.path("tls.key")) }, []string{"tls.key"}},
		"a key of another": {
			func(d certDir) { _ = os.WriteFile(d.path("tls.key"), other.key, 0o600) },
			[]string{"tls.crt", "tls.key", "private key does not match"},
		},
		"an authority of another":  {func(d certDir) { d.write(t, good, other.caBundle) }, []string{"tls.crt: no CA in", "ca.crt"}},
		"no authority in its file": {func(d certDir) { d.write(t, good, []byte("x")) }, []string{"ca.crt"}},
		"not for the name of the server": {
			func(d certDir) { d.write(t, unnamed, unnamed.caBundle) },
			[]string{"tls.crt: the certificate is not valid for the name svc", "not svc"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := certDir(t.TempDir())
			dir.write(t, good, good.caBundle)
			f, _ := newFile(t, dir.files(), good.createdAt)
			test.put(dir)
			err := f.sync(t.Context())
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("turn = %v, want %q in it", err, want)
				}
			}
			f.expectServed(t, "then", good, good.caBundle)
		})
	}
}

// TestFilesOfAReplicaThatStartsInTheMiddle starts while only the CA of the former certificate is published. The new key pair is not
// served before the leader has published its CA, and the former CA stays published for other replicas.
func TestFilesOfAReplicaThatStartsInTheMiddle(t *testing.T) {
	former, fresh := newKeyPair(t, "svc"), newKeyPair(t, "svc")
	dir := certDir(t.TempDir())
	dir.write(t, fresh, fresh.caBundle)
	api := &fakeAPIServer{names: []string{"svc"}, authorities: former.caBundle}
	start := func() (*File, *clocktesting.FakeClock) {
		clock := clocktesting.NewFakeClock(fresh.createdAt)
		f := &File{served: newServed(), files: dir.files(), names: []string{"svc"}, clock: clock, publisher: fakePublisher{api, []string{"svc"}}}
		f.state.Store(&fileState{})
		if err := f.sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f.pair.Load() != nil {
			t.Fatal("a pair is served that the API server does not trust")
		}
		return f, clock
	}
	waiting, clock := start()
	clock.Step(trustDelay)
	if err := waiting.sync(t.Context()); err != nil || !waiting.pair.Load().equal(fresh) {
		t.Errorf("turn = %v; want the pair served in the end though no leader registers it", err)
	}
	f, clock := start()
	if err := f.publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.sync(t.Context()); err != nil || !f.pair.Load().equal(fresh) {
		t.Errorf("turn = %v; want the pair served once it is registered", err)
	}
	if !bytes.Equal(api.authorities, bytes.Join([][]byte{fresh.caBundle, former.caBundle}, nil)) {
		t.Error("the authority that other replicas may need was taken away")
	}
	clock.Step(2 * trustDelay)
	if err := f.publish(t.Context()); err != nil || !bytes.Equal(api.authorities, fresh.caBundle) {
		t.Errorf("register = %v; want the former authority gone in the end", err)
	}
}

// sentBundles is a CAPublisher that sends the bundles to a channel.
type sentBundles struct{ to chan<- []byte }

func (s sentBundles) Apply(ctx context.Context, authorities []byte) error {
	select {
	case s.to <- slices.Clone(authorities):
	case <-ctx.Done():
	}
	return nil
}

func (s sentBundles) UpdateCABundles(context.Context, []byte) error { return nil }

func (s sentBundles) CABundles(context.Context) ([][]byte, error) { return nil, nil }

func TestFollowAndLeadOfFiles(t *testing.T) {
	first, second := newKeyPair(t, "svc"), newKeyPair(t, "svc")
	dir := certDir(t.TempDir())
	dir.write(t, first, first.caBundle)
	f, clock := newFile(t, dir.files(), first.createdAt)
	published := make(chan []byte)
	f.publisher = sentBundles{published}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- f.runServing(ctx) }()
	go func() { done <- f.runPublishing(ctx) }()
	if got := <-published; !bytes.Equal(got, first.caBundle) {
		t.Error("the leader publishes another CA than the file contains")
	}
	dir.write(t, second, second.caBundle)
	for got := []byte(nil); !bytes.Contains(got, second.caBundle); {
		clock.Step(pollInterval)
		select {
		case got = <-published:
		default:
			runtime.Gosched()
		}
	}
	cancel()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
