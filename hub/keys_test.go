package hub

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/internal/pki"
)

// TestAnExpiredFormerAuthorityStopsNoStart: a rotation that was never ended must not end the hub years later.
func TestAnExpiredFormerAuthorityStopsNoStart(t *testing.T) {
	dir := t.TempDir()
	if _, err := pki.Open(dir, "users-ca", today.AddDate(-11, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "users-ca.json"), []byte(`{"signing":"users-ca-2","former":"users-ca"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := openAuthorities(dir, today)
	if err != nil {
		t.Fatal(err)
	}
	if k.former != nil || !errors.Is(k.expired, pki.ErrExpired) || !strings.Contains(k.expired.Error(), "users-ca in "+dir) {
		t.Errorf("the former authority is %v, and the fault %v names it not", k.former, k.expired)
	}
	if got := string(k.trusted()); got != string(k.users.CertPEM()) {
		t.Errorf("the hub trusts %s", got)
	}
	if k, err = openAuthorities(dir, today.AddDate(-2, 0, 0)); err != nil || k.former == nil || k.expired != nil {
		t.Errorf("before its end the former authority is %v, %v, %v", k.former, k.expired, err)
	}
	if _, err := openAuthorities(dir, today.AddDate(20, 0, 0)); !errors.Is(err, pki.ErrExpired) {
		t.Errorf("an expired authority that signs: %v", err)
	}
}
