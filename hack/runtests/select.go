package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// slowTag is the build constraint of files with slow tests, and longTag of files with tests that only make long runs.
	slowTag, longTag = "slow", "long"
	// hubBinaries is how many test binaries of hub run at a time on two cores: each has a hub, and waits for a part of its time.
	// otherBinaries is that of another module, which computes, and aloneBinaries where nothing else runs.
	hubBinaries, otherBinaries, aloneBinaries = 4, 1, 2
	// testTimeout ends a test binary that hangs.
	testTimeout = "60m"
)

// testPackage is a folder with tests.
type testPackage struct {
	module string
	// folder is from the root of the repository, with slashes.
	folder string
	// fast is true for a package with a test file that needs no constraint.
	fast bool
	// slow are the tests in files with the constraint slow, and fuzz all fuzz targets.
	slow, fuzz []string
}

// findPackages returns every package with tests, sorted by folder.
func findPackages(root string) ([]testPackage, error) {
	modules, err := findModules(root)
	if err != nil {
		return nil, err
	}
	found := map[string]*testPackage{}
	err = walk(root, func(name string) error {
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		folder := path.Dir(name)
		of := found[folder]
		if of == nil {
			of = &testPackage{folder: folder, module: moduleOf(modules, folder)}
			found[folder] = of
		}
		return of.add(root, path.Base(name))
	})
	if err != nil {
		return nil, err
	}
	out := make([]testPackage, 0, len(found))
	for _, of := range found {
		if of.fast || len(of.slow) > 0 {
			out = append(out, *of)
		}
	}
	slices.SortFunc(out, func(a, b testPackage) int { return cmp.Compare(a.folder, b.folder) })
	return out, nil
}

// walk calls visit with the path of each file from the root, with slashes, without hidden folders, testdata and built files.
func walk(root string, visit func(name string) error) error {
	return fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error { //nolint:wrapcheck // it names the file
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (base == "bin" || base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		default:
			return visit(name)
		}
	})
}

// findModules returns the folders of the modules, with slashes.
func findModules(root string) ([]string, error) {
	var out []string
	err := walk(root, func(name string) error {
		if path.Base(name) == "go.mod" {
			out = append(out, path.Dir(name))
		}
		return nil
	})
	return out, err
}

// moduleOf returns the module of a folder: the longest that contains it.
func moduleOf(modules []string, folder string) string {
	out := "."
	for _, module := range modules {
		if contains(module, folder) && len(module) > len(out) {
			out = module
		}
	}
	return out
}

func contains(parent, folder string) bool {
	return parent == "." || folder == parent || strings.HasPrefix(folder, parent+"/")
}

// add adds a test file to the package.
func (p *testPackage) add(root, name string) error {
	folder := filepath.Join(root, filepath.FromSlash(p.folder))
	plain, withTag := build.Default, build.Default
	withTag.BuildTags = append(slices.Clone(withTag.BuildTags), slowTags()...)
	isFast, err := plain.MatchFile(folder, name)
	if err != nil {
		return fmt.Errorf("reading %s/%s: %w", p.folder, name, err)
	}
	isBuilt, err := withTag.MatchFile(folder, name)
	if err != nil {
		return fmt.Errorf("reading %s/%s: %w", p.folder, name, err)
	}
	if !isBuilt {
		return nil
	}
	tests, err := declared(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	for _, test := range tests {
		switch {
		case strings.HasPrefix(test, "Fuzz"):
			p.fuzz = append(p.fuzz, test)
			p.fast = p.fast || isFast // its seeds
		case isFast:
			p.fast = true
		default:
			p.slow = append(p.slow, test)
		}
	}
	return nil
}

// slowTags are the constraints that slow runs satisfy.
func slowTags() []string {
	if os.Getenv("BERTH_LONG") != "" {
		return []string{slowTag, longTag}
	}
	return []string{slowTag}
}

// declared returns the names of the tests, fuzz targets and examples of a file.
func declared(file string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("reading the tests of a file: %w", err)
	}
	var out []string
	for _, declaration := range parsed.Decls {
		function, is := declaration.(*ast.FuncDecl)
		if !is || function.Recv != nil || function.Name.Name == "TestMain" {
			continue
		}
		for _, prefix := range []string{"Test", "Fuzz", "Example"} {
			if strings.HasPrefix(function.Name.Name, prefix) {
				out = append(out, function.Name.Name)
			}
		}
	}
	return out, nil
}

// chosen returns the packages that the command line names. A name is a folder from the root; FOLDER/... includes those below.
func chosen(packages []testPackage, names []string) ([]testPackage, error) {
	if len(names) == 0 {
		return packages, nil
	}
	var out []testPackage
	var unknown []error
	for _, name := range names {
		folder, below := strings.CutSuffix(path.Clean(filepath.ToSlash(name)), "/...")
		before := len(out)
		for _, p := range packages {
			if (p.folder == folder || below && contains(folder, p.folder)) &&
				!slices.ContainsFunc(out, func(o testPackage) bool { return o.folder == p.folder }) {
				out = append(out, p)
			}
		}
		if len(out) == before {
			unknown = append(unknown, fmt.Errorf("%s has no tests: name a folder from the root, such as engine or hub/integration/join; "+
				"FOLDER/... includes those below", name))
		}
	}
	return out, errors.Join(unknown...)
}

// requireFast returns an error if a package that the command line names by itself has slow tests only.
func requireFast(packages []testPackage, names []string) error {
	var errs []error
	for _, p := range packages {
		isNamed := slices.ContainsFunc(names, func(name string) bool { return path.Clean(filepath.ToSlash(name)) == p.folder })
		if isNamed && !p.fast {
			errs = append(errs, fmt.Errorf("%s has slow tests only: run `make slow PKGS=%s`", p.folder, p.folder))
		}
	}
	return errors.Join(errs...)
}

// fastRuns returns the calls that run the tests of a change: one for each module, the longest package first.
func fastRuns(packages []testPackage, opts options, known times) []goTest {
	byModule := map[string][]testPackage{}
	for _, p := range packages {
		if p.fast {
			byModule[p.module] = append(byModule[p.module], p)
		}
	}
	var out []goTest
	for module, of := range byModule {
		slices.SortStableFunc(of, func(a, b testPackage) int { return cmp.Compare(known[b.folder], known[a.folder]) })
		run := goTest{module: module, parallel: binaries(module, len(byModule) == 1), flags: opts.goFlags(), environment: rareCollection()}
		for _, p := range of {
			run.packages = append(run.packages, p.pattern())
		}
		out = append(out, run)
	}
	// The longest is the first: hub.
	slices.SortFunc(out, func(a, b goTest) int {
		return cmp.Or(cmp.Compare(b.parallel, a.parallel), cmp.Compare(a.module, b.module))
	})
	return out
}

// rareCollection lets tests and the programs that they start collect garbage rarely, unless GOGC is set: most of them end before they would
// use much memory, and a hub starts with a fifth less work.
func rareCollection() []string {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	return []string{"GOGC=400"}
}

// binaries returns how many test binaries of a module run at a time.
func binaries(module string, alone bool) int {
	switch {
	case module == "hub":
		return hubBinaries
	case alone:
		return aloneBinaries
	default:
		return otherBinaries
	}
}

// pattern returns the package as an argument of go test in its module.
func (p testPackage) pattern() string {
	relative := strings.TrimPrefix(strings.TrimPrefix(p.folder, p.module), "/")
	if p.module == "." {
		relative = p.folder
	}
	return "./" + relative
}

// goFlags returns the flags of go test. A machine under load gets the time that it needs: no test is about that.
func (o options) goFlags() []string {
	out := []string{"-timeout=" + testTimeout}
	if o.run != "" {
		out = append(out, "-run="+o.run)
	}
	return append(out, strings.Fields(o.flags)...)
}
