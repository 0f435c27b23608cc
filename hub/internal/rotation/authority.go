package rotation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	certutil "k8s.io/client-go/util/cert"

	"github.com/berth-project/berth/hub/internal/pki"
)

const (
	nextSuffix   = "-next"
	formerSuffix = "-former.crt"

	// formerTrust is how long a former CA is trusted after another one signs. It is longer than any certificate that it signed but those
	// of the hub itself, which are replaced at once.
	formerTrust = 92 * 24 * time.Hour
	// maxFormer bounds the former CAs that are trusted at a time.
	maxFormer = 8
)

var errManyFormer = fmt.Errorf("%d former CAs are still trusted, so that it is not replaced again: each is trusted for 92 days", maxFormer)

// Authority is a CA that the hub replaces while it runs, because the hub itself lets every verifier trust the next CA first. It is for
// one goroutine at a time.
type Authority struct {
	folder, name string
	signing      *pki.Authority
	next         *pki.Authority // trusted, and signs soon; nil outside a replacement
	former       []byte         // certificates that are still trusted
}

// Open opens the CA called name in a folder, or creates it on the first call. It replaces an expired one at once: no certificate that it
// signed is valid either.
func Open(folder, name string, now time.Time) (*Authority, error) {
	out := &Authority{folder: folder, name: name}
	if err := out.finish(); err != nil {
		return nil, err
	}
	var err error
	if out.signing, err = pki.Open(folder, name, now); errors.Is(err, pki.ErrExpired) {
		out.signing, err = pki.Create(folder, name, out.subject(now), now, now)
	}
	if err != nil {
		return nil, err
	}
	if out.next, err = pki.Existing(folder, name+nextSuffix, now); errors.Is(err, fs.ErrNotExist) || errors.Is(err, pki.ErrExpired) {
		out.next, err = nil, pki.Remove(folder, name+nextSuffix)
	}
	if err != nil {
		return nil, err
	}
	return out, out.readFormer(now)
}

// subject returns a subject that no other CA of this name has.
func (a *Authority) subject(now time.Time) string {
	return "berth-hub-" + a.name + "@" + strconv.FormatInt(now.Unix(), 10)
}

// finish completes a promotion that a crash interrupted after it had moved the key.
func (a *Authority) finish() error {
	_, err := os.Stat(a.path(nextSuffix + ".key"))
	if _, certErr := os.Stat(a.path(nextSuffix + ".crt")); !errors.Is(err, fs.ErrNotExist) || certErr != nil {
		return nil //nolint:nilerr // no promotion is incomplete without both files
	}
	return a.move(".crt")
}

// readFormer reads the certificates of former CAs that have not expired.
func (a *Authority) readFormer(now time.Time) error {
	a.former = nil
	text, err := os.ReadFile(a.path(formerSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the former CAs of %s: %w", a.name, err)
	}
	certs, err := certutil.ParseCertsPEM(text)
	if err != nil {
		return fmt.Errorf("reading the former CAs of %s: %s is damaged; restore it from a backup, or remove it: then certificates of a "+
			"former CA are not trusted: %w",
			a.name, a.path(formerSuffix), err)
	}
	for _, cert := range certs {
		if now.Before(cert.NotAfter) {
			a.former = append(a.former, pki.EncodeCert(cert)...)
		}
	}
	return nil
}

func (a *Authority) path(suffix string) string { return filepath.Join(a.folder, a.name+suffix) }

// move moves the key or the certificate of the next CA to that which signs.
func (a *Authority) move(suffix string) error {
	if err := os.Rename(a.path(nextSuffix+suffix), a.path(suffix)); err != nil {
		return fmt.Errorf("replacing CA %s: %w", a.name, err)
	}
	return nil
}

// Signing returns the CA that signs.
func (a *Authority) Signing() *pki.Authority { return a.signing }

// Next returns the CA that will sign; nil outside a replacement.
func (a *Authority) Next() *pki.Authority { return a.next }

// Bundle returns the certificates of all CAs that verifiers must trust: that which signs, the next one, and the former ones.
func (a *Authority) Bundle() []byte {
	out := a.signing.CertPEM()
	if a.next != nil {
		out = append(out, a.next.CertPEM()...)
	}
	return append(out, a.former...)
}

// Due returns whether half of the life of the CA has passed.
func (a *Authority) Due(now time.Time) bool { return a.signing.End().Sub(now) < pki.Lifetime/2 }

// Prepare creates the next CA, unless there is one. The caller lets every verifier trust the bundle, and calls Promote then. The next CA
// is valid as early as the present one, so that a clock that was ahead for a moment does no harm.
func (a *Authority) Prepare(now time.Time) error {
	if a.next != nil {
		return nil
	}
	former, err := certutil.ParseCertsPEM(a.former)
	if len(a.former) > 0 && err != nil {
		return fmt.Errorf("replacing CA %s: %w", a.name, err)
	}
	if len(former) >= maxFormer {
		return fmt.Errorf("replacing CA %s: %w", a.name, errManyFormer)
	}
	a.next, err = pki.Create(a.folder, a.name+nextSuffix, a.subject(now), a.signing.Start(), now)
	return err
}

// Promote lets the next CA sign. The former one is trusted for a while, and its key is gone. A crash in between leaves the former CA or
// the next one.
func (a *Authority) Promote(now time.Time) error {
	limited, err := a.signing.Until(now.Add(formerTrust))
	if err != nil {
		return err
	}
	if err := pki.WriteFile(a.path(formerSuffix), append(limited, a.former...)); err != nil {
		return err
	}
	if err := a.move(".key"); err != nil {
		return err
	}
	if err := a.move(".crt"); err != nil {
		return err
	}
	a.next = nil
	if a.signing, err = pki.Existing(a.folder, a.name, now); err != nil {
		return err
	}
	return a.readFormer(now)
}
