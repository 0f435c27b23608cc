// Package encryption encrypts objects of a hub at rest.
//
// It owns the key and the configuration of the API server, both beside the certificates, and writes objects anew after the choice of
// what is encrypted has changed. The API server encrypts. The invariant: the key is created once and never replaced, because
// without it the encrypted objects are lost.
package encryption

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/internal/durable"
	"github.com/berth-project/berth/hub/internal/pki"
)

const (
	// Secrets are Secrets.
	Secrets = "secrets"
	// Works are the objects that hold manifests.
	Works = "works"

	keyFile    = "encryption.key"
	configFile = "encryption.json"
	stateFile  = "encryption-state.json"
	keyName    = "hub"
	keyBytes   = 32
)

// all returns every choice.
func all() []string { return []string{Secrets, Works} }

// resources returns the resources of each choice.
func resources() map[string][]schema.GroupVersionResource {
	return map[string][]schema.GroupVersionResource{
		Secrets: {{Version: "v1", Resource: "secrets"}},
		Works: {
			workv1.SchemeGroupVersion.WithResource("manifestworks"),
			workv1alpha1.SchemeGroupVersion.WithResource("manifestworkreplicasets"),
			{Group: "apps", Version: "v1", Resource: "controllerrevisions"},    // the kept templates of sets
			rolloutv1alpha1.SchemeGroupVersion.WithResource("formertemplates"), // those with a Secret
		},
	}
}

// Validate returns an error for a choice that does not exist.
func Validate(choices []string) error {
	for _, choice := range choices {
		if _, ok := resources()[choice]; !ok {
			return fmt.Errorf("%q cannot be encrypted, only %s and %s can", choice, Secrets, Works)
		}
	}
	return nil
}

// Configure writes the configuration of the API server and returns its path. It creates the key at the first call. The API server
// encrypts the chosen objects when it writes them, and reads all objects, encrypted or not.
func Configure(folder string, choices []string) (path string, err error) {
	if err := Validate(choices); err != nil {
		return "", err
	}
	key, err := openKey(folder)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(configuration(key, choices))
	if err != nil {
		return "", fmt.Errorf("encoding the configuration of the encryption: %w", err)
	}
	path = filepath.Join(folder, configFile)
	if err := pki.WriteFile(path, data); err != nil {
		return "", err
	}
	return path, markMixed(folder, choices)
}

// openKey returns the key, which is encoded as base64.
func openKey(folder string) (string, error) {
	path := filepath.Join(folder, keyFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createKey(folder)
	}
	if err != nil {
		return "", fmt.Errorf("reading the key of the encryption: %w", err)
	}
	encoded := strings.TrimSpace(string(data))
	if decoded, err := base64.StdEncoding.DecodeString(encoded); err != nil || len(decoded) != keyBytes {
		return "", fmt.Errorf("reading the key of the encryption: %s is damaged; restore it from a backup, because objects are encrypted with it",
			path)
	}
	return encoded, nil
}

// createKey creates the key, unless the hub has had one.
func createKey(folder string) (string, error) {
	path := filepath.Join(folder, keyFile)
	if _, err := os.Lstat(filepath.Join(folder, configFile)); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the key of the encryption: %s is missing; restore it from a backup, because objects are encrypted with it",
			path)
	}
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it never fails
	encoded := base64.StdEncoding.EncodeToString(key)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("creating the folder of the key: %w", err)
	}
	if err := pki.WriteFile(path, []byte(encoded+"\n")); err != nil {
		return "", err
	}
	return encoded, durable.Sync(path, folder) // before any object is encrypted with it
}

// configuration returns an EncryptionConfiguration. The first provider of a resource writes, and all of them read.
func configuration(key string, choices []string) map[string]any {
	type object = map[string]any
	secretbox := object{"secretbox": object{"keys": []object{{"name": keyName, "secret": key}}}}
	identity := object{"identity": object{}}
	var rules []object
	for _, choice := range all() {
		providers := []object{identity, secretbox}
		if slices.Contains(choices, choice) {
			providers = []object{secretbox, identity}
		}
		var names []string
		for _, resource := range resources()[choice] {
			names = append(names, resource.GroupResource().String())
		}
		rules = append(rules, object{"resources": names, "providers": providers})
	}
	return object{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": rules}
}
