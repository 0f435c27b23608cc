package encryption

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/berth-project/berth/hub/internal/pki"
)

// How the stored objects of a choice are. A choice without a state is plain.
const (
	encrypted = "encrypted"
	plain     = "plain"
	// mixed objects must be written anew.
	mixed = "mixed"
)

// state is how the stored objects are, by choice.
type state map[string]string

func wanted(choices []string, choice string) string {
	if slices.Contains(choices, choice) {
		return encrypted
	}
	return plain
}

func readState(folder string) (state, error) {
	path := filepath.Join(folder, stateFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what is encrypted: %w", err)
	}
	out := state{}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("reading what is encrypted: %s is damaged; remove it, and the hub writes all objects anew: %w", path, err)
	}
	return out, nil
}

func (s state) write(folder string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encoding what is encrypted: %w", err)
	}
	return pki.WriteFile(filepath.Join(folder, stateFile), append(data, '\n'))
}

// markMixed records the choices whose objects will be written in another way from now on. It must be called before the API server starts.
func markMixed(folder string, choices []string) error {
	s, err := readState(folder)
	if err != nil {
		return err
	}
	changed := false
	for _, choice := range all() {
		if now := s.of(choice); now != mixed && now != wanted(choices, choice) {
			s[choice], changed = mixed, true
		}
	}
	if !changed {
		return nil
	}
	return s.write(folder)
}

func (s state) of(choice string) string {
	if found, ok := s[choice]; ok {
		return found
	}
	return plain
}
