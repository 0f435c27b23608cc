package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-project/berth/internal/cli/scenario"
	"github.com/berth-project/berth/internal/source/file"
)

// maxScenarios is how many files are played at most.
const maxScenarios = 1000

// files returns the scenarios that the arguments stand for.
func (o *options) files(args []string) ([]string, file.FaultsError) {
	var out []string
	var faults file.FaultsError
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case err != nil:
			faults = append(faults, unreadableScenario(arg, err)...)
			continue
		case !info.IsDir():
			out = append(out, arg)
			continue
		}
		found, err := o.scenarioFiles(arg)
		if err != nil {
			faults = append(faults, unreadableScenario(arg, err)...)
		} else if len(found) == 0 {
			faults = append(faults, file.Fault{
				Position: file.Position{File: arg},
				Err:      errors.New("has no scenario in it; -R looks in the folders below too"),
			})
		}
		out = append(out, found...)
	}
	if len(out) > maxScenarios {
		first := file.Position{File: out[maxScenarios]}
		return nil, file.FaultsError{{Position: first, Err: fmt.Errorf("is one too many: at most %d scenarios run at once", maxScenarios)}}
	}
	return out, faults
}

// scenarioFiles returns the scenarios of a folder by name. A link to a folder is not followed, so that no circle is possible.
func (o *options) scenarioFiles(folder string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if path != folder && !o.recursive {
				return fs.SkipDir
			}
			return nil
		case !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path))):
			return nil
		}
		if info, err := entry.Info(); err != nil || info.Size() > scenario.MaxSize {
			return err
		}
		data, err := os.ReadFile(path) //nolint:gosec // the folder is the operator's to choose
		if err == nil && scenario.IsScenario(data) {
			out = append(out, path)
		}
		return err
	})
	return out, err
}

func unreadableScenario(name string, err error) file.FaultsError {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		name, err = path.Path, path.Err
	}
	return file.FaultsError{{Position: file.Position{File: name}, Err: fmt.Errorf("cannot be read: %w; check the path", err)}}
}
