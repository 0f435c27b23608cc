package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	certBlock   = "CERTIFICATE"
	keyBlock    = "PRIVATE KEY"
	publicBlock = "PUBLIC KEY"
)

var (
	errNoCert = errors.New("holds no PEM certificate")
	errNoKey  = errors.New("holds no PEM private key")
)

// Files names the two files of a stored pair.
type Files struct {
	Cert, Key string
}

// filesIn returns where a pair called name lies.
func filesIn(dir, name string) Files {
	return Files{Cert: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key")}
}

// Write stores the pair in dir as name.crt and name.key. The key goes first: a
// certificate on disk implies its key, also after a crash between the two.
func (p Pair) Write(dir, name string) (Files, error) {
	files := filesIn(dir, name)
	if err := WriteFile(files.Key, p.Key); err != nil {
		return Files{}, err
	}
	return files, WriteFile(files.Cert, p.Cert)
}

// KeyFiles names the two halves of a key that signs without a certificate.
type KeyFiles struct {
	Private, Public string
}

// SigningKey returns the files of the key called name in dir. The private half is
// created on the first call and kept, as what it signed must stay valid; the
// public half is derived from it.
func SigningKey(dir, name string) (KeyFiles, error) {
	files := KeyFiles{Private: filesIn(dir, name).Key, Public: filepath.Join(dir, name+".pub")}
	if _, err := os.Stat(files.Private); errors.Is(err, fs.ErrNotExist) {
		if err := createKey(files.Private); err != nil {
			return files, err
		}
	}
	data, err := os.ReadFile(files.Private)
	if err != nil {
		return files, fmt.Errorf("reading the signing key: %w", err)
	}
	key, err := parseKey(data)
	if err != nil {
		return files, fmt.Errorf("reading the signing key %s: %w", files.Private, err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return files, fmt.Errorf("encoding the public half of %s: %w", files.Private, err)
	}
	return files, WriteFile(files.Public, pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: der}))
}

func createKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generating the signing key: %w", err)
	}
	data, err := encodeKey(key)
	if err != nil {
		return err
	}
	return WriteFile(path, data)
}

func readPair(dir, name string) (Pair, error) {
	files := filesIn(dir, name)
	cert, err := os.ReadFile(files.Cert)
	if err != nil {
		return Pair{}, fmt.Errorf("reading the certificate: %w", err)
	}
	key, err := os.ReadFile(files.Key)
	if errors.Is(err, fs.ErrNotExist) {
		// Not wrapped: a lost key must not look like an authority never made.
		return Pair{}, fmt.Errorf("reading the key of %s: %s is missing; restore it, or delete %s to get new certificates", files.Cert, files.Key, dir)
	}
	if err != nil {
		return Pair{}, fmt.Errorf("reading the key of %s: %w", files.Cert, err)
	}
	return Pair{Cert: cert, Key: key}, nil
}

// WriteFile replaces a file as a whole, readable by its owner only, whatever was there before.
func WriteFile(path string, data []byte) error {
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".next-*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	_, err = next.Write(data)
	if err := errors.Join(err, next.Close()); err != nil {
		_ = os.Remove(next.Name()) // the first error is the one that tells
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(next.Name(), path); err != nil {
		_ = os.Remove(next.Name()) // the first error is the one that tells
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certBlock, Bytes: der})
}

func encodeKey(key crypto.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der}), nil
}

func parseCert(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != certBlock {
		return nil, errNoCert
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parsing the certificate: %w", err)
	}
	return cert, nil
}

func parseKey(data []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != keyBlock {
		return nil, errNoKey
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parsing the private key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errNoKey
	}
	return signer, nil
}
