package rotation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certutil "k8s.io/client-go/util/cert"

	"github.com/berth-project/berth/hub/internal/pki"
)

var day = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func openAt(t *testing.T, folder string, at time.Time) *Authority {
	t.Helper()
	out, err := Open(folder, "agents-ca", at)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// replace replaces the CA once.
func replace(t *testing.T, a *Authority, at time.Time) {
	t.Helper()
	if err := a.Prepare(at); err != nil {
		t.Fatal(err)
	}
	if err := a.Promote(at); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, bundle []byte) int {
	t.Helper()
	certs, err := certutil.ParseCertsPEM(bundle)
	if err != nil {
		t.Fatal(err)
	}
	return len(certs)
}

// TestAPromotionSurvivesACrash interrupts a promotion between its steps.
func TestAPromotionSurvivesACrash(t *testing.T) {
	const creating = "while the next CA is created"
	for sentence, moved := range map[string][]string{
		"before the key is moved":         nil,
		"before the certificate is moved": {".key"},
		"after everything is moved":       {".key", ".crt"},
		creating:                          nil,
	} {
		t.Run(sentence, func(t *testing.T) {
			folder := t.TempDir()
			a := openAt(t, folder, day)
			if err := a.Prepare(day); err != nil {
				t.Fatal(err)
			}
			next := string(a.Next().CertPEM())
			if sentence == creating { // only its key is stored
				if err := os.Remove(a.path(nextSuffix + ".crt")); err != nil {
					t.Fatal(err)
				}
			}
			for _, suffix := range moved {
				if err := a.move(suffix); err != nil {
					t.Fatal(err)
				}
			}
			again := openAt(t, folder, day)
			if got := string(again.Signing().CertPEM()); (got == next) != (len(moved) > 0) {
				t.Errorf("the next CA signs: %t", got == next)
			}
			if _, err := again.Signing().Client(day.Add(time.Hour), "u"); err != nil {
				t.Errorf("the CA that signs: %v", err)
			}
			replace(t, again, day)
			if left, err := filepath.Glob(filepath.Join(folder, "*"+nextSuffix+"*")); err != nil || len(left) > 0 {
				t.Errorf("files are left: %v, %v", left, err)
			}
		})
	}
}

// TestFormerCAsAreBoundedAndEnd checks that repeated replacements are refused until the first former CA is no longer trusted.
func TestFormerCAsAreBoundedAndEnd(t *testing.T) {
	folder := t.TempDir()
	a := openAt(t, folder, day)
	for range maxFormer {
		replace(t, a, day)
	}
	if got := count(t, a.Bundle()); got != maxFormer+1 {
		t.Errorf("%d CAs are trusted, want %d", got, maxFormer+1)
	}
	if err := a.Prepare(day); !errors.Is(err, errManyFormer) || a.Next() != nil {
		t.Errorf("one more replacement: %v", err)
	}
	later := openAt(t, folder, day.Add(formerTrust+time.Hour))
	if got := count(t, later.Bundle()); got != 1 {
		t.Errorf("%d CAs are trusted later, want one", got)
	}
	replace(t, later, day.Add(formerTrust+time.Hour))
}

func TestAnExpiredCAIsReplacedAtOnce(t *testing.T) {
	folder := t.TempDir()
	first := openAt(t, folder, day)
	at := day.Add(pki.Lifetime + time.Hour)
	if got := openAt(t, folder, at); string(got.Signing().CertPEM()) == string(first.Signing().CertPEM()) || got.Due(at) {
		t.Error("the expired CA still signs")
	}
}

func TestDamagedFormerCAsAreNamed(t *testing.T) {
	folder := t.TempDir()
	openAt(t, folder, day)
	path := filepath.Join(folder, "agents-ca"+formerSuffix)
	if err := os.WriteFile(path, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(folder, "agents-ca", day); err == nil || !strings.Contains(err.Error(), path+" is damaged; restore it") {
		t.Errorf("Open = %v", err)
	}
}

// TestAnEarlyClockDoesNoHarm: a clock that was ahead for a moment leaves a CA that is valid when the clock is right again.
func TestAnEarlyClockDoesNoHarm(t *testing.T) {
	a := openAt(t, t.TempDir(), day)
	ahead := day.Add(6 * 365 * 24 * time.Hour)
	if !a.Due(ahead) || a.Due(day) {
		t.Fatal("the CA is not due when it should be")
	}
	replace(t, a, ahead)
	if start := a.Signing().Start(); start.After(day) {
		t.Errorf("the CA is valid from %s", start)
	}
}
