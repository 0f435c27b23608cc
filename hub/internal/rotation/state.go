// Package rotation replaces the certificate authority (CA) that signs the users and the API server of a hub.
//
// It owns which CAs the hub trusts, in a file beside them, and the check of the agents before one is dropped. It creates no
// certificate. A step takes effect at the next start of the hub. The invariant: a CA is dropped only if every agent has reported
// that it trusts the next one, or its cluster is named.
package rotation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/berth-project/berth/hub/internal/pki"
)

const (
	// firstCA is the name of the CA of a new hub. The name of a later one ends with its number.
	firstCA   = "users-ca"
	stateFile = "users-ca.json"
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
}

// Read returns the state of the hub with its certificates in a folder.
func Read(folder string) (State, error) {
	path := filepath.Join(folder, stateFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return State{Signing: firstCA}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("reading the CAs of the hub: %w", err)
	}
	var out State
	if err := json.Unmarshal(data, &out); err != nil {
		return State{}, fmt.Errorf("reading the CAs of the hub: %s is damaged; restore it: %w", path, err)
	}
	if number(out.Signing) == 0 || out.Former != "" && number(out.Former) == 0 {
		return State{}, fmt.Errorf("reading the CAs of the hub: %s is damaged; restore it: %w", path, errNotCA)
	}
	return out, nil
}

// number returns the number of a CA; 0 for another name, so that a damaged state never names another file.
func number(name string) int {
	if name == firstCA {
		return 1
	}
	digits, found := strings.CutPrefix(name, firstCA+"-")
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

// Advance takes the next step, if there is one, and returns the state of the hub that starts. It writes the state before it removes
// a dropped CA, so that a crash leaves a file at most.
func Advance(folder string) (State, error) {
	state, err := Read(folder)
	if err != nil || state.Next == "" {
		return state, err
	}
	next := State{Signing: state.Signing}
	if state.Next == Replace {
		next = State{Signing: fmt.Sprintf("%s-%d", firstCA, number(state.Signing)+1), Former: state.Signing}
	}
	if err := next.write(folder); err != nil {
		return State{}, err
	}
	if state.Next == Drop {
		return next, pki.Remove(folder, state.Former)
	}
	return next, nil
}
