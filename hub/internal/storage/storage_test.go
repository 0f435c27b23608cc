package storage

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const mib = 1 << 20

// healthy is a database with a quarter of its quota on a disk with enough space.
func healthy(change func(*State)) State {
	out := State{Size: 256 * mib, InUse: 200 * mib, Quota: 1024 * mib, Free: 4096 * mib, MinFree: 256 * mib, SinceDefragment: 2 * time.Hour}
	change(&out)
	return out
}

func TestDecide(t *testing.T) {
	const disk, quota = "its disk has ", "of the quota of "
	for name, tc := range map[string]struct {
		state State
		want  Plan
		full  string
	}{
		"a healthy database is left alone": {state: healthy(func(*State) {})},
		"a file that is mostly free is rewritten": {
			state: healthy(func(s *State) { s.InUse = 100 * mib }),
			want:  Plan{Defragment: true},
		},
		"a file is rewritten once an hour": {state: healthy(func(s *State) {
			s.InUse, s.SinceDefragment = 100*mib, 59*time.Minute
		})},
		"a small file is not worth it":       {state: healthy(func(s *State) { s.Size, s.InUse = 60*mib, mib })},
		"a rewrite needs space for the copy": {state: healthy(func(s *State) { s.InUse, s.Free = 100*mib, 300*mib })},
		"a full disk accepts no writes":      {state: healthy(func(s *State) { s.Free = 255 * mib }), full: disk},
		"a full disk is written again only with more space": {
			state: healthy(func(s *State) { s.Free, s.ReadOnly = 300*mib, true }),
			want:  Plan{Compact: true}, full: disk,
		},
		"a disk with space is written again": {
			state: healthy(func(s *State) { s.Free, s.ReadOnly = 400*mib, true }),
			want:  Plan{Compact: true},
		},
		"a full database is compacted and rewritten": {
			state: healthy(func(s *State) { s.Size, s.ReadOnly = 1024*mib, true }),
			want:  Plan{Compact: true, Defragment: true}, full: quota,
		},
		"a full database with no free part stays full": {state: healthy(func(s *State) {
			s.Size, s.InUse, s.ReadOnly = 1024*mib, 1020*mib, true
		}), want: Plan{Compact: true}, full: quota},
		"a database that was full is written again below 90%": {state: healthy(func(s *State) {
			s.Size, s.InUse, s.ReadOnly = 900*mib, 899*mib, true
		}), want: Plan{Compact: true}},
		"a database just above 90% stays full": {state: healthy(func(s *State) {
			s.Size, s.InUse, s.ReadOnly = 930*mib, 929*mib, true
		}), want: Plan{Compact: true}, full: quota},
	} {
		t.Run(name, func(t *testing.T) {
			got := Decide(tc.state)
			if !strings.Contains(got.Full, tc.full) || (got.Full == "") != (tc.full == "") {
				t.Errorf("full: %q, want %q", got.Full, tc.full)
			}
			got.Full = ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Decide (-want +got):\n%s", diff)
			}
		})
	}
}

// TestADecisionIsStable checks that the state after a decision leads to the same one, so that a database does not alternate.
func TestADecisionIsStable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		s := State{
			Size: random.Int64N(8 << 30), Quota: random.Int64N(8 << 30), Free: random.Int64N(1 << 30), MinFree: random.Int64N(1 << 30),
			ReadOnly: random.IntN(2) == 0,
		}
		s.InUse = random.Int64N(s.Size + 1)
		s.ReadOnly = Decide(s).Full != ""
		if again := Decide(s).Full != ""; again != s.ReadOnly {
			t.Fatalf("a database that became read-only=%t becomes %t: %+v", s.ReadOnly, again, s)
		}
		if s.Free < s.MinFree && !s.ReadOnly {
			t.Fatalf("a full disk is written: %+v", s)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]string{
		"64Mi": "", "1Gi": "", "67108864": "", "63Mi": "is not between 64.0 MiB",
		"2Gi": "and 1024.0 MiB", "much": "is no number of bytes",
	} {
		got, err := ParseBytes(text, 64*mib, 1024*mib)
		if want == "" && (err != nil || got < 64*mib) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("ParseBytes(%q) = %d, %v; want %q", text, got, err, want)
		}
	}
}
