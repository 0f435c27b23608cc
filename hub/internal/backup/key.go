package backup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
)

const (
	// agePrefix begins every file that age encrypts, privateKeyPrefix a private key of age.
	agePrefix        = "age-encryption.org/"
	privateKeyPrefix = "AGE-SECRET-KEY-"
	// maxKeyFileBytes bounds what is read of a file with keys.
	maxKeyFileBytes = 1 << 20
)

var (
	errNoKey       = errors.New("it is encrypted: give the file with its private key")
	errUnencrypted = errors.New("it is not encrypted: give no key")
	errWrongKey    = errors.New("the key does not open it: give the private key that belongs to it, or another backup if it is damaged")
	errPublicKey   = errors.New("it has public keys only, which encrypt; give the file with the private key")
)

// GenerateKey writes a new private key to a new file that only its owner can read, and returns the public key.
func GenerateKey(path string) (public string, err error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return "", fmt.Errorf("generating a key: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("creating the file of the key: %w", err)
	}
	public = identity.Recipient().String()
	_, err = fmt.Fprintf(file, "# public key: %s\n%s\n", public, identity)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", fmt.Errorf("writing the key: %w", err)
	}
	return public, nil
}

// keys are the keys of a file: those that encrypt, and those that decrypt, if the file has private keys.
type keys struct {
	recipients []age.Recipient
	identities []age.Identity
}

// readKeys reads a file with private or public keys of age, one a line.
func readKeys(path string) (keys, error) {
	file, err := os.Open(path)
	if err != nil {
		return keys{}, fmt.Errorf("reading the key: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	data, err := io.ReadAll(io.LimitReader(file, maxKeyFileBytes))
	if err != nil {
		return keys{}, fmt.Errorf("reading the key: %w", err)
	}
	out, err := parseKeys(data)
	if err != nil {
		return keys{}, fmt.Errorf("reading the key: %s holds no keys of age, one a line: %w", path, err)
	}
	return out, nil
}

func parseKeys(data []byte) (keys, error) {
	if !hasPrivateKey(data) {
		recipients, err := age.ParseRecipients(bytes.NewReader(data))
		return keys{recipients: recipients}, err
	}
	identities, err := age.ParseIdentities(bytes.NewReader(data))
	if err != nil {
		return keys{}, errors.New("a line is malformed") // the error of age may have parts of the key
	}
	out := keys{identities: identities}
	for _, identity := range identities {
		switch identity := identity.(type) {
		case *age.X25519Identity:
			out.recipients = append(out.recipients, identity.Recipient())
		case *age.HybridIdentity:
			out.recipients = append(out.recipients, identity.Recipient())
		default:
			return keys{}, fmt.Errorf("keys of the type %T cannot encrypt", identity)
		}
	}
	return out, nil
}

func hasPrivateKey(data []byte) bool {
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, privateKeyPrefix) {
			return true
		}
	}
	return false
}

// decrypted returns the content of a backup. An empty name of a key file is no key.
func decrypted(in io.Reader, keyFile string) (io.Reader, error) {
	buffered := bufio.NewReader(in)
	start, err := buffered.Peek(len(agePrefix))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err //nolint:wrapcheck // the caller names the file
	}
	encrypted := string(start) == agePrefix
	switch {
	case !encrypted && keyFile == "":
		return buffered, nil
	case !encrypted:
		return nil, errUnencrypted
	case keyFile == "":
		return nil, errNoKey
	}
	keys, err := readKeys(keyFile)
	if err != nil {
		return nil, err
	}
	if len(keys.identities) == 0 {
		return nil, fmt.Errorf("using the key %s: %w", keyFile, errPublicKey)
	}
	out, err := age.Decrypt(buffered, keys.identities...)
	var mismatch *age.NoIdentityMatchError
	switch {
	case errors.As(err, &mismatch):
		return nil, fmt.Errorf("decrypting it with %s: %w", keyFile, errWrongKey)
	case err != nil:
		return nil, fmt.Errorf("decrypting it: %w", damaged(err))
	}
	return out, nil
}
