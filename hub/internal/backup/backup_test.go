package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errBoom = errors.New("boom")

// content is what the tests back up.
func content() map[string]string {
	return map[string]string{"pki/users-ca.key": "a key", "port": "6443\n", "etcd.snapshot": strings.Repeat("pages", 100)}
}

// collect returns the content of a backup.
func collect(t *testing.T) func() (Manifest, []Source, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot")
	if err := os.WriteFile(path, []byte(content()["etcd.snapshot"]), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() (Manifest, []Source, error) {
		return Manifest{Kubernetes: "v1.2.3", Revision: 7}, []Source{
			{Name: "pki/users-ca.key", Data: []byte(content()["pki/users-ca.key"])},
			{Name: "port", Data: []byte(content()["port"])},
			{Name: "etcd.snapshot", Path: path},
		}, nil
	}
}

// readAll returns the files of a backup.
func readAll(path, keyFile string) (map[string]string, error) {
	out := map[string]string{}
	err := ReadFile(path, keyFile, nil, func(file File, in io.Reader) error {
		data, err := io.ReadAll(in)
		out[file.Name] = string(data)
		return err
	})
	return out, err
}

// newKey returns the paths of a new private key and of its public key.
func newKey(t *testing.T) (private, public string) {
	t.Helper()
	private, public = filepath.Join(t.TempDir(), "private"), filepath.Join(t.TempDir(), "public")
	text, err := GenerateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(public, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return private, public
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	private, public := newKey(t)
	for name, tc := range map[string]struct{ write, read string }{
		"without a key":               {},
		"encrypted by a private key":  {write: private, read: private},
		"encrypted by its public key": {write: public, read: private},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "hub.backup")
			if _, err := Create(path, tc.write, collect(t)); err != nil {
				t.Fatal(err)
			}
			got, err := readAll(path, tc.read)
			if diff := cmp.Diff(content(), got); err != nil || diff != "" {
				t.Errorf("Read = %v (-want +got):\n%s", err, diff)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the file has mode %v, %v; want 0600", info.Mode(), err)
			}
			written, err := os.ReadFile(path)
			if err != nil || bytes.Contains(written, []byte("a key")) == (tc.write != "") {
				t.Errorf("the backup is encrypted: %t, %v", tc.write == "", err)
			}
			requireOnly(t, path)
		})
	}
}

// requireOnly requires that the folder of a file has no other file.
func requireOnly(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v; want %s alone", entries, err, path)
	}
}

func TestEveryChangeOfABackupIsFound(t *testing.T) {
	private, _ := newKey(t)
	for name, tc := range map[string]struct {
		key string
		// step is between the bytes that are tried.
		step int
	}{"plain": {step: 1}, "encrypted": {key: private, step: 7}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "hub.backup")
			if _, err := Create(path, tc.key, collect(t)); err != nil {
				t.Fatal(err)
			}
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			read := func(data []byte) error {
				content, err := decrypted(bytes.NewReader(data), tc.key)
				if err != nil {
					return err
				}
				return Read(content, nil, nil)
			}
			if err := read(whole); err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(whole); i += tc.step {
				changed := bytes.Clone(whole)
				changed[i] ^= 1 << (i % 8)
				if read(changed) == nil {
					t.Errorf("a backup that is changed at byte %d of %d was read", i, len(whole))
				}
				if read(whole[:i]) == nil {
					t.Errorf("a backup that is cut at byte %d of %d was read", i, len(whole))
				}
			}
			if read(append(bytes.Clone(whole), 0)) == nil {
				t.Error("a backup with another byte at its end was read")
			}
		})
	}
}

// withManifest returns a backup with a manifest and no other file.
func withManifest(t *testing.T, manifest string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: manifestName, Size: int64(len(manifest)), Mode: 0o600}
	if err := archive.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write([]byte(manifest)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(out.Bytes())
	return append(out.Bytes(), hash[:]...)
}

func TestAnUnfitBackupIsRefused(t *testing.T) {
	private, public := newKey(t)
	other, _ := newKey(t)
	write := func(data []byte) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, encrypted := filepath.Join(t.TempDir(), "plain"), filepath.Join(t.TempDir(), "encrypted")
	for path, key := range map[string]string{plain: "", encrypted: private} {
		if _, err := Create(path, key, collect(t)); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct{ path, key, want string }{
		"a newer format": {
			path: write(withManifest(t, `{"format":2,"files":"changed"}`)),
			want: "it has format 2, and this release reads format 1",
		},
		"a manifest that is no JSON": {path: write(withManifest(t, "{")), want: errDamaged.Error()},
		"a file outside the folder": {
			path: write(withManifest(t, `{"format":1,"files":[{"name":"../admin"}]}`)),
			want: `it lists the file "../admin"`,
		},
		"a file twice": {
			path: write(withManifest(t, `{"format":1,"files":[{"name":"a"},{"name":"a"}]}`)),
			want: `it lists the file "a"`,
		},
		"a file that is missing": {
			path: write(withManifest(t, `{"format":1,"files":[{"name":"a"}]}`)),
			want: "reading a: " + errDamaged.Error(),
		},
		"another file":                   {path: write([]byte(strings.Repeat("text ", 500))), want: errNoBackup.Error()},
		"an empty file":                  {path: write(nil), want: errDamaged.Error()},
		"no file":                        {path: filepath.Join(t.TempDir(), "none"), want: "no such file"},
		"no key for an encrypted backup": {path: encrypted, want: errNoKey.Error()},
		"the key of another backup":      {path: encrypted, key: other, want: errWrongKey.Error()},
		"a public key":                   {path: encrypted, key: public, want: errPublicKey.Error()},
		"a key for a plain backup":       {path: plain, key: private, want: errUnencrypted.Error()},
		"a key that is no key":           {path: encrypted, key: plain, want: "holds no keys of age"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readAll(tc.path, tc.key); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Read = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAMalformedPrivateKeyIsNotPrinted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("AGE-SECRET-KEY-1SECRET\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Create(filepath.Join(t.TempDir(), "hub.backup"), path, collect(t))
	if err == nil || strings.Contains(err.Error(), "1SECRET") || !strings.Contains(err.Error(), path) {
		t.Errorf("Create = %v, want an error that names the file and not its content", err)
	}
}

func TestNothingIsLeftOfABackupThatFails(t *testing.T) {
	for name, tc := range map[string]struct {
		collect func() (Manifest, []Source, error)
		want    error
	}{
		"the content cannot be collected": {collect: func() (Manifest, []Source, error) { return Manifest{}, nil, errBoom }, want: errBoom},
		"a file is missing": {collect: func() (Manifest, []Source, error) {
			return Manifest{}, []Source{{Name: "port", Path: "/none"}}, nil
		}, want: fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			_, err := Create(filepath.Join(folder, "hub.backup"), "", tc.collect)
			entries, readErr := os.ReadDir(folder)
			if !errors.Is(err, tc.want) || readErr != nil || len(entries) != 0 {
				t.Errorf("Create = %v and left %v, %v; want %v and nothing", err, entries, readErr, tc.want)
			}
		})
	}
}

func TestAFileIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.backup")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Create(path, "", collect(t))
	after, readErr := os.ReadFile(path)
	if !errors.Is(err, fs.ErrExist) || readErr != nil || string(after) != "before" {
		t.Errorf("Create = %v, and the file has %q, %v; want a refusal", err, after, readErr)
	}
	if _, err := GenerateKey(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("GenerateKey = %v, want a refusal", err)
	}
}

// TestMemoryDoesNotGrowWithABackup writes, encrypts and reads back a file that is far larger than the memory that this may take.
func TestMemoryDoesNotGrowWithABackup(t *testing.T) {
	const size, most = 128 << 20, 16 << 20
	private, _ := newKey(t)
	folder := t.TempDir()
	snapshot := filepath.Join(folder, "snapshot")
	if err := errors.Join(os.WriteFile(snapshot, nil, 0o600), os.Truncate(snapshot, size)); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Create(filepath.Join(folder, "hub.backup"), private, func() (Manifest, []Source, error) {
		return Manifest{}, []Source{{Name: "etcd.snapshot", Path: snapshot}}, nil
	})
	runtime.ReadMemStats(&after)
	if taken := int64(after.HeapSys) - int64(before.HeapSys); err != nil || taken > most {
		t.Errorf("a backup of %d bytes took %d bytes of memory, %v; want at most %d", size, taken, err, most)
	}
}
