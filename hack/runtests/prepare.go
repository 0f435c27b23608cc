package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/berth-project/berth/internal/checkout"
)

// A programBuild makes programs with one call of the go command.
type programBuild struct {
	folder   string
	flags    []string
	packages []string
	// cgo is for the race detector, which is a C library.
	cgo bool
}

// builds make the programs under test. folder is below programsFolder: programs of one name lie apart.
// Those of some slow tests take minutes, and are built for these only.
func builds(slow []unit) []programBuild {
	out := []programBuild{
		{folder: plain, packages: []string{
			"./cmd/berth", "./cmd/kubectl-berth", "./cmd/berth-agent", "./hub/cmd/berth-hub",
			"./hub/cmd/testhub",
		}},
	}
	if slices.ContainsFunc(slow, func(u unit) bool { return u.on.name == race }) {
		out = append(out, programBuild{folder: race, packages: []string{"./cmd/berth"}, flags: []string{"-race"}, cgo: true})
	}
	if slices.ContainsFunc(slow, func(u unit) bool { return u.on.target != "" || slices.Contains(u.targets(), formerSet) }) {
		out = append(out, programBuild{folder: compat, packages: []string{"./hub/cmd/berth-hub"}, flags: []string{"-tags=compat"}})
	}
	if slices.ContainsFunc(slow, func(u unit) bool { return u.of.folder == nodeTests }) {
		out = append(out, programBuild{folder: "node", packages: []string{"./hub/cmd/kubenode"}, flags: []string{"-tags=node"}})
	}
	return out
}

// others are the programs of other projects that slow tests run, as targets of make.
func others() []string {
	return []string{"bin/argocd", "bin/axe.min.js", "bin/chromium", "bin/helm", "bin/node", "bin/prometheus", formerSet, oldestSet}
}

const (
	// The folders of builds. Programs of race and compat have it in their names too.
	plain, race, compat = "plain", "race", "compat"
	// nodeTests are the tests on a real node.
	nodeTests = "hub/integration/node"
	// programsFolder has the programs that were built last. Each lies in a folder named by its digest too, which tests get.
	programsFolder = "bin/test"
	// digestLength is how many letters of a digest name a program.
	digestLength = 16
	folderMode   = 0o755
	fileMode     = 0o644
	keepPrograms = time.Hour
)

// prepare builds the programs under test and returns the variables of internal/checkout.
func prepare(ctx context.Context, root string, slow []unit) ([]string, error) {
	unlock, err := lock(root)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var building errgroup.Group
	for _, b := range builds(slow) {
		building.Go(func() error { return b.run(ctx, root) })
	}
	if err := building.Wait(); err != nil {
		return nil, err
	}
	links, err := prepareLinks(ctx, root)
	if err != nil {
		return nil, err
	}
	out := []string{checkout.RootVariable + "=" + root, links}
	for _, b := range builds(slow) {
		for _, from := range b.packages {
			variable, err := b.publish(root, filepath.Base(from))
			if err != nil {
				return nil, err
			}
			out = append(out, variable)
		}
	}
	for _, other := range others() {
		if len(slow) > 0 { // whose results are never kept, so that they depend on no digest
			out = append(out, checkout.Variable(checkout.ProgramKind, filepath.Base(other))+"="+filepath.Join(root, filepath.FromSlash(other)))
		}
	}
	digests, err := digests(root)
	return append(out, digests...), err
}

// lock keeps two runs in one checkout from building at the same time. The system frees it when this process ends.
func lock(root string) (unlock func(), err error) {
	folder := filepath.Join(root, programsFolder)
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return nil, fmt.Errorf("creating the folder of programs: %w", err)
	}
	file, err := os.Create(filepath.Join(folder, "lock"))
	if err != nil {
		return nil, fmt.Errorf("creating the lock of builds: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("taking the lock of builds: %w", err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing frees it
}

func (b programBuild) run(ctx context.Context, root string) error {
	to := filepath.Join(root, programsFolder, b.folder)
	args := slices.Concat([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"}, b.flags,
		[]string{"-o", to + string(filepath.Separator)}, b.packages)
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir, command.Env = root, os.Environ()
	if b.cgo {
		command.Env = append(command.Env, "CGO_ENABLED=1")
	}
	if printed, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w: %s", strings.Join(b.packages, ", "), err, lastBytes(printed))
	}
	return nil
}

// publish puts the program into a folder that is named by its digest, and returns its variable. A program under test may run while the next
// one is built.
func (b programBuild) publish(root, name string) (variable string, err error) {
	built := filepath.Join(root, programsFolder, b.folder, name)
	sum, err := fileDigest(built)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(root, programsFolder, b.folder+"-"+name, sum[:digestLength])
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err != nil {
		if err := removeOld(filepath.Dir(folder)); err != nil {
			return "", err
		}
		if err := copyProgram(built, path); err != nil {
			return "", fmt.Errorf("storing %s: %w", name, err)
		}
	}
	if b.folder == race || b.folder == compat {
		name += "-" + b.folder
	}
	return checkout.Variable(checkout.ProgramKind, name) + "=" + path, nil
}

// removeOld removes what was published more than keepPrograms ago: another run in this checkout may still start what is younger.
func removeOld(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listing former programs: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || time.Since(info.ModTime()) < keepPrograms {
			continue // another run may just have removed it
		}
		if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
			return fmt.Errorf("removing a former program: %w", err)
		}
	}
	return nil
}

// copyProgram copies a program. A link would change with the next build, which may write into the file.
func copyProgram(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), folderMode); err != nil {
		return err //nolint:wrapcheck // it names the folder
	}
	in, err := os.Open(from)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	defer in.Close() //nolint:errcheck // it was only read
	partial := to + ".partial"
	out, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, folderMode)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	if err := out.Close(); err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	return os.Rename(partial, to) //nolint:wrapcheck // it names the files
}

// digests returns the variables with the digest of each area, and with how often the area changed while tests ran.
func digests(root string) ([]string, error) {
	var out []string
	add := func(area, sum string) error {
		name := checkout.Variable(checkout.AreaKind, area)
		changes, err := os.ReadFile(changesOf(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		out = append(out, name+"="+sum[:digestLength]+string(changes))
		return err //nolint:wrapcheck // it names the file
	}
	for _, area := range checkout.Areas() {
		sum, err := treeDigest(filepath.Join(root, filepath.FromSlash(area)), func(string) bool { return true })
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", area, err)
		}
		if err := add(area, sum); err != nil {
			return nil, err
		}
	}
	sum, err := treeDigest(root, func(path string) bool {
		return filepath.Ext(path) == ".go" || filepath.Base(path) == "go.mod"
	})
	if err != nil {
		return nil, fmt.Errorf("reading the Go files: %w", err)
	}
	return out, add(checkout.Sources, sum)
}

// changesOf returns the file with a mark for each run in which an area changed.
func changesOf(root, variable string) string {
	return filepath.Join(root, programsFolder, "changes", variable)
}

// dropChanged makes sure that no later run takes results of tests that may have read an area as it was not when the run began. It returns
// the variables of the areas that have changed since.
func dropChanged(root string, environment []string) ([]string, error) {
	now, err := digests(root)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, variable := range now {
		if slices.Contains(environment, variable) {
			continue
		}
		name, _, _ := strings.Cut(variable, "=")
		out = append(out, name)
		path := changesOf(root, name)
		if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
			return nil, err //nolint:wrapcheck // it names the folder
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, fileMode)
		if err != nil {
			return nil, err //nolint:wrapcheck // it names the file
		}
		if _, err = file.WriteString("+"); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if err := file.Close(); err != nil {
			return nil, err //nolint:wrapcheck // it names the file
		}
	}
	return out, nil
}

// treeDigest returns the digest of the names and bytes of the files in a tree that count. It passes over hidden folders and bin.
func treeDigest(root string, counts func(path string) bool) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (name == "bin" || name == "node_modules" || strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case !entry.Type().IsRegular() || !counts(path):
			return nil
		}
		digest, err := fileDigest(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return fmt.Errorf("naming %s: %w", path, err)
		}
		_, err = fmt.Fprintf(sum, "%s %s\n", digest, relative)
		return err //nolint:wrapcheck // a hash never fails
	})
	if err != nil {
		return "", fmt.Errorf("reading the files of %s: %w", root, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func fileDigest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading a file: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// lastBytes returns the end of an output.
func lastBytes(printed []byte) []byte {
	const most = 4000
	return printed[max(0, len(printed)-most):]
}
