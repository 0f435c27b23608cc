// Package rotation replaces the certificate authorities (CAs) of a hub, and the key that signs tokens.
//
// It owns which CAs and keys the hub trusts, in files beside them. The CA that signs the users and the API server is replaced by steps
// that take effect at the next start of the hub, with a check of the agents before the former CA is dropped. An Authority is replaced while
// the hub runs. The invariant: a CA is dropped only if every agent has reported that it trusts the next one, or its cluster is named.
package rotation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/berth-project/berth/hub/internal/pki"
)

const (
	// firstCA is the name of the CA of a new hub. The name of a later one ends with its number.
	firstCA       = "users-ca"
	firstTokenKey = "service-accounts"
	stateFile     = "users-ca.json"
)

var errNotCA = errors.New("it names no CA")

// Step is a step of a rotation.
type Step string

// Steps.
const (
	// Replace lets another CA sign. The former one stays trusted.
	Replace Step = "replace"
	// Drop ends the trust in the former CA.
	Drop Step = "drop"
)

// State names the CAs of a hub.
type State struct {
	// Signing is the name of the CA that signs.
	Signing string `json:"signing"`
	// Former is the name of the CA that signed before and is still trusted; empty outside a rotation.
	Former string `json:"former,omitempty"`
	// Next is the step that the next start of the hub takes; empty means none.
	Next Step `json:"next,omitempty"`
	// TokenKey is the name of the key that signs the tokens of service accounts. It is replaced together with the CA.
	TokenKey string `json:"tokenKey,omitempty"`
	// FormerTokenKey is the name of the key that signed them before and still verifies them; empty outside a rotation.
	FormerTokenKey string `json:"formerTokenKey,omitempty"`
	// Replaced is when the last replacement took effect; nil before the first one.
	Replaced *time.Time `json:"replaced,omitempty"`
}

// Read returns the state of the hub with its certificates in a folder.
func Read(folder string) (State, error) {
	path := filepath.Join(folder, stateFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return State{Signing: firstCA, TokenKey: firstTokenKey}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("reading the CAs of the hub: %w", err)
	}
	var out State
	if err := json.Unmarshal(data, &out); err != nil {
		return State{}, fmt.Errorf("reading the CAs of the hub: %s is damaged; restore it: %w", path, err)
	}
	out.TokenKey = cmp.Or(out.TokenKey, firstTokenKey) // earlier releases had one key
	if number(out.Signing, firstCA) == 0 || out.Former != "" && number(out.Former, firstCA) == 0 ||
		number(out.TokenKey, firstTokenKey) == 0 || out.FormerTokenKey != "" && number(out.FormerTokenKey, firstTokenKey) == 0 {
		return State{}, fmt.Errorf("reading the CAs of the hub: %s is damaged; restore it: %w", path, errNotCA)
	}
	return out, nil
}

// number returns the number of a CA or a key that succeeds the first one; 0 for another name, so that a damaged state never names another
// file.
func number(name, first string) int {
	if name == first {
		return 1
	}
	digits, found := strings.CutPrefix(name, first+"-")
	out, err := strconv.Atoi(digits)
	if !found || err != nil || out < 1 {
		return 0
	}
	return out
}

func (s State) write(folder string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encoding the CAs of the hub: %w", err)
	}
	return pki.WriteFile(filepath.Join(folder, stateFile), append(data, '\n'))
}

// successor returns the name of the CA or key after a given one.
func successor(name, first string) string { return fmt.Sprintf("%s-%d", first, number(name, first)+1) }

// Advance takes the next step, if there is one, and returns the state of the hub that starts. It writes the state before it removes
// a dropped CA and key, so that a crash leaves files at most.
func Advance(folder string, now time.Time) (State, error) {
	state, err := Read(folder)
	if err != nil || state.Next == "" {
		return state, err
	}
	next := State{Signing: state.Signing, TokenKey: state.TokenKey, Replaced: state.Replaced}
	if state.Next == Replace {
		next = State{
			Signing: successor(state.Signing, firstCA), Former: state.Signing,
			TokenKey: successor(state.TokenKey, firstTokenKey), FormerTokenKey: state.TokenKey, Replaced: &now,
		}
	}
	if err := next.write(folder); err != nil {
		return State{}, err
	}
	if state.Next == Replace {
		return next, nil
	}
	err = pki.Remove(folder, state.Former)
	if state.FormerTokenKey != "" {
		err = errors.Join(err, pki.Remove(folder, state.FormerTokenKey))
	}
	return next, err
}
