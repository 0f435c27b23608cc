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

// folder holds the files of a certificate.
type folder string

func (f folder) files() Files {
	return Files{Certificate: f.path("tls.crt"), Key: f.path("tls.key"), Authorities: f.path("ca.crt")}
}

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

func (f folder) put(t *testing.T, p *pair, authorities ...[]byte) {
	t.Helper()
	for name, content := range map[string][]byte{"tls.crt": p.certificate, "tls.key": p.key, "ca.crt": bytes.Join(authorities, nil)} {
		if err := os.WriteFile(f.path(name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// file returns a source of a folder, whose clock is the caller's to step.
func file(t *testing.T, files Files, begin time.Time) (*File, *clocktesting.FakeClock) {
	t.Helper()
	clock := clocktesting.NewFakeClock(begin)
	f := &File{served: newServed(), files: files, names: []string{"svc"}, clock: clock, registrar: registrar{&registered{}, []string{"svc"}}}
	f.known.Store(&fileState{})
	if err := f.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f, clock
}

// trusting checks what is served and who is trusted.
func (f *File) trusting(t *testing.T, when string, served *pair, authorities ...[]byte) {
	t.Helper()
	if !f.pair.Load().same(served) {
		t.Errorf("%s: another certificate is served", when)
	}
	if got := f.known.Load().authorities(); !bytes.Equal(got, bytes.Join(authorities, nil)) {
		t.Errorf("%s: trusted are\n%s", when, got)
	}
}

// TestFilesChange replaces a certificate and its authority at once, as whoever keeps them does.
func TestFilesChange(t *testing.T) {
	first, second := made(t, "svc"), made(t, "svc")
	dir := folder(t.TempDir())
	dir.put(t, first, first.authority)
	f, clock := file(t, dir.files(), first.since)
	changes := 0
	f.OnChange(func() { changes++ })
	at := func(step time.Duration) {
		t.Helper()
		clock.Step(step)
		if err := f.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f.trusting(t, "at the start", first, first.authority)
	at(look)
	f.trusting(t, "unchanged", first, first.authority)
	dir.put(t, second, second.authority)
	at(look)
	f.trusting(t, "changed", first, first.authority, second.authority)
	at(overlap - time.Second)
	f.trusting(t, "before the overlap has passed", first, first.authority, second.authority)
	at(time.Second)
	f.trusting(t, "after the overlap", second, second.authority, first.authority)
	at(overlap - time.Second)
	f.trusting(t, "while other replicas may serve the former", second, second.authority, first.authority)
	at(time.Second)
	f.trusting(t, "after another overlap", second, second.authority)
	if changes != 1 {
		t.Errorf("told of %d changes, want one", changes)
	}
}

func TestFilesChangeInOtherWays(t *testing.T) {
	first, second, third := made(t, "svc"), made(t, "svc"), made(t, "svc")
	type step struct {
		after time.Duration
		put   func(folder)
	}
	puts := func(p *pair, authorities ...[]byte) func(folder) {
		return func(d folder) { d.put(t, p, append(authorities, p.authority)...) }
	}
	nothing := func(folder) {}
	for sentence, test := range map[string]struct {
		// ends is how long what is there before lasts.
		ends    time.Duration
		steps   []step
		served  *pair
		trusted [][]byte
	}{
		"another authority beside that of the same certificate is trusted at once": {
			life / 2,
			[]step{{look, puts(first, second.authority)}},
			first,
			[][]byte{second.authority, first.authority},
		},
		"what goes back was never there": {
			life / 2,
			[]step{{look, puts(second)}, {look, puts(first)}, {overlap, nothing}},
			first,
			[][]byte{first.authority},
		},
		"a second change waits anew": {
			life / 2,
			[]step{{look, puts(second)}, {look, puts(third)}, {overlap - look, nothing}},
			first,
			[][]byte{first.authority, third.authority},
		},
		"what has waited is served though the files are broken": {
			life / 2,
			[]step{{look, puts(second)}, {overlap, func(d folder) { _ = os.Remove(d.path("tls.crt")) }}},
			second,
			[][]byte{second.authority, first.authority},
		},
		"one that ends soon stays as long as it can": {
			overlap / 2,
			[]step{{0, puts(second)}, {overlap/2 - closing - time.Second, nothing}},
			first,
			[][]byte{first.authority, second.authority},
		},
		"one that ends soon gives way in time": {
			overlap / 2,
			[]step{{0, puts(second)}, {overlap/2 - closing, nothing}},
			second,
			[][]byte{second.authority, first.authority},
		},
		"one that ends in a moment stays until then, since nobody trusts the next": {
			look,
			[]step{{0, puts(second)}, {look - time.Second, nothing}},
			first,
			[][]byte{first.authority, second.authority},
		},
		"one that has ended gives way": {
			look,
			[]step{{0, puts(second)}, {look, nothing}},
			second,
			[][]byte{second.authority, first.authority},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := folder(t.TempDir())
			puts(first)(dir)
			f, clock := file(t, dir.files(), first.until.Add(-test.ends))
			for _, step := range test.steps {
				clock.Step(step.after)
				step.put(dir)
				_ = f.turn(t.Context()) // what it says of broken files is not the point here
			}
			f.trusting(t, "then", test.served, test.trusted...)
		})
	}
}

// TestFilesThatNobodyIsToldOf are served at once: whoever tells does not wait for us.
func TestFilesThatNobodyIsToldOf(t *testing.T) {
	first, second := made(t, "svc"), made(t, "svc")
	dir := folder(t.TempDir())
	dir.put(t, first)
	files := dir.files()
	files.Authorities = ""
	f, _ := file(t, files, first.since)
	dir.put(t, second)
	if err := f.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.trusting(t, "changed", second)
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	good, other, unnamed := made(t, "svc"), made(t, "svc"), made(t, "else")
	for sentence, test := range map[string]struct {
		put  func(folder)
		want []string
	}{
		"none there":                     {func(d folder) { _ = os.Remove(d.path("tls.key")) }, []string{"tls.key"}},
		"a key of another":               {func(d folder) { _ = os.WriteFile(d.path("tls.key"), other.key, 0o600) }, []string{"tls.crt", "tls.key", "private key does not match"}},
		"an authority of another":        {func(d folder) { d.put(t, good, other.authority) }, []string{"tls.crt: its authority is not in", "ca.crt"}},
		"no authority in its file":       {func(d folder) { d.put(t, good, []byte("x")) }, []string{"ca.crt"}},
		"not for the name of the server": {func(d folder) { d.put(t, unnamed, unnamed.authority) }, []string{"tls.crt: the API server asks for svc", "not svc"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := folder(t.TempDir())
			dir.put(t, good, good.authority)
			f, _ := file(t, dir.files(), good.since)
			test.put(dir)
			err := f.turn(t.Context())
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("turn = %v, want %q in it", err, want)
				}
			}
			f.trusting(t, "then", good, good.authority)
		})
	}
}

// TestFilesOfAReplicaThatStartsInTheMiddle starts while the API server trusts the former authority alone: the pair is not
// served before the leader has registered it, and the former authority stays trusted while other replicas may need it.
func TestFilesOfAReplicaThatStartsInTheMiddle(t *testing.T) {
	former, fresh := made(t, "svc"), made(t, "svc")
	dir := folder(t.TempDir())
	dir.put(t, fresh, fresh.authority)
	api := &registered{names: []string{"svc"}, authorities: former.authority}
	start := func() (*File, *clocktesting.FakeClock) {
		clock := clocktesting.NewFakeClock(fresh.since)
		f := &File{served: newServed(), files: dir.files(), names: []string{"svc"}, clock: clock, registrar: registrar{api, []string{"svc"}}}
		f.known.Store(&fileState{})
		if err := f.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f.pair.Load() != nil {
			t.Fatal("a pair is served that the API server does not trust")
		}
		return f, clock
	}
	waiting, clock := start()
	clock.Step(overlap)
	if err := waiting.turn(t.Context()); err != nil || !waiting.pair.Load().same(fresh) {
		t.Errorf("turn = %v; want the pair served in the end though no leader registers it", err)
	}
	f, clock := start()
	if err := f.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.turn(t.Context()); err != nil || !f.pair.Load().same(fresh) {
		t.Errorf("turn = %v; want the pair served once it is registered", err)
	}
	if !bytes.Equal(api.authorities, bytes.Join([][]byte{fresh.authority, former.authority}, nil)) {
		t.Error("the authority that other replicas may need was taken away")
	}
	clock.Step(2 * overlap)
	if err := f.register(t.Context()); err != nil || !bytes.Equal(api.authorities, fresh.authority) {
		t.Errorf("register = %v; want the former authority gone in the end", err)
	}
}

// sent is a registrar that sends what it is to register.
type sent struct{ to chan<- []byte }

func (s sent) Apply(ctx context.Context, authorities []byte) error {
	select {
	case s.to <- slices.Clone(authorities):
	case <-ctx.Done():
	}
	return nil
}

func (s sent) Trust(context.Context, []byte) error { return nil }

func (s sent) Trusted(context.Context) ([][]byte, error) { return nil, nil }

func TestFollowAndLeadOfFiles(t *testing.T) {
	first, second := made(t, "svc"), made(t, "svc")
	dir := folder(t.TempDir())
	dir.put(t, first, first.authority)
	f, clock := file(t, dir.files(), first.since)
	said := make(chan []byte)
	f.registrar = sent{said}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- f.follow(ctx) }()
	go func() { done <- f.lead(ctx) }()
	if got := <-said; !bytes.Equal(got, first.authority) {
		t.Error("the leader tells something else than the file says")
	}
	dir.put(t, second, second.authority)
	for got := []byte(nil); !bytes.Contains(got, second.authority); {
		clock.Step(look)
		select {
		case got = <-said:
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
