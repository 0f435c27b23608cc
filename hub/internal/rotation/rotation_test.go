package rotation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/pki"
	"github.com/berth-project/berth/internal/membership/registration"
)

// newFolder returns a data folder with CAs.
func newFolder(t *testing.T, names ...string) (dataDir, folder string) {
	t.Helper()
	dataDir = t.TempDir()
	folder = filepath.Join(dataDir, datadir.PKIFolder)
	for _, name := range names {
		if _, err := pki.Open(folder, name, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	return dataDir, folder
}

func TestEachStartTakesOneStep(t *testing.T) {
	dataDir, folder := newFolder(t, "users-ca", "users-ca-2")
	for _, name := range []string{"service-accounts", "service-accounts-2"} {
		if _, err := pki.SigningKey(folder, name); err != nil {
			t.Fatal(err)
		}
	}
	advance := func(want State) Report {
		t.Helper()
		for range 2 { // a start without a step changes nothing
			got, err := Advance(folder, day)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the state (-want +got):\n%s", diff)
			}
		}
		return Report{State: want}
	}
	report := advance(State{Signing: "users-ca", TokenKey: "service-accounts"})
	if err := report.PrepareDrop(dataDir, nil); !errors.Is(err, errNotReplaced) {
		t.Errorf("a drop before the replacement: %v", err)
	}
	if err := report.PrepareReplace(dataDir); err != nil {
		t.Fatal(err)
	}
	pending, err := Read(folder)
	if err != nil || pending.Next != Replace {
		t.Errorf("the state is %+v, %v", pending, err)
	}
	for _, prepare := range []error{Report{State: pending}.PrepareReplace(dataDir), Report{State: pending}.PrepareDrop(dataDir, nil)} {
		if !errors.Is(prepare, errPending) {
			t.Errorf("a second step: %v", prepare)
		}
	}

	report = advance(State{
		Signing: "users-ca-2", Former: "users-ca", TokenKey: "service-accounts-2", FormerTokenKey: "service-accounts", Replaced: &day,
	})
	if err := report.PrepareReplace(dataDir); !errors.Is(err, errNotDropped) {
		t.Errorf("a second replacement: %v", err)
	}
	if err := report.PrepareDrop(dataDir, nil); err != nil {
		t.Fatal(err)
	}
	advance(State{Signing: "users-ca-2", TokenKey: "service-accounts-2", Replaced: &day})
	left, err := filepath.Glob(filepath.Join(folder, "*.key"))
	want := []string{filepath.Join(folder, "service-accounts-2.key"), filepath.Join(folder, "users-ca-2.key")}
	if diff := cmp.Diff(want, left); err != nil || diff != "" {
		t.Errorf("the keys (-want +got):\n%s%v", diff, err)
	}
}

func TestADropIsRefusedWhileAgentsDoNotFollow(t *testing.T) {
	many := make([]registration.Straggler, 0, 30)
	for number := range 30 {
		many = append(many, registration.Straggler{Cluster: fmt.Sprintf("c%02d", number)})
	}
	for sentence, test := range map[string]struct {
		stragglers []registration.Straggler
		stranded   []string
		want       string
	}{
		"every agent follows": {nil, nil, ""},
		"agents do not follow": {many[:2], nil, "dropping CA users-ca: agents would no longer reach the " +
			"hub, of 2 clusters: c00, c01;"},
		"one of them is given up":         {many[:2], []string{"c00"}, "of 1 clusters: c01;"},
		"all of them are given up":        {many[:2], []string{"c00", "c01"}, ""},
		"all are given up without a name": {many, []string{"*"}, ""},
		"more than a message holds":       {many, nil, "c18, c19, ...; wait"},
	} {
		t.Run(sentence, func(t *testing.T) {
			dataDir, folder := newFolder(t, "users-ca")
			report := Report{State: State{Signing: "users-ca-2", Former: "users-ca"}, Stragglers: test.stragglers}
			err := report.PrepareDrop(dataDir, test.stranded)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
			if _, stored := os.Stat(filepath.Join(folder, stateFile)); (stored == nil) != (test.want == "") {
				t.Errorf("the step is prepared: %v", stored)
			}
		})
	}
}

func TestADamagedStateIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "{}", `{"signing":"../etcd-ca"}`, `{"signing":"users-ca","former":"users-ca-0"}`,
		`{"signing":"users-ca","tokenKey":"etcd-ca"}`,
	} {
		_, folder := newFolder(t, "users-ca")
		if err := os.WriteFile(filepath.Join(folder, stateFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if state, err := Advance(folder, day); err == nil || !strings.Contains(err.Error(), "is damaged; restore it") {
			t.Errorf("of %q: %+v, %v", text, state, err)
		}
	}
}
