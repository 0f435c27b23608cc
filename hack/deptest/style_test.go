package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/berth-project/berth/internal/checkout"
)

// maxColumns is how long a line is at most. A tab counts as one column.
const maxColumns = 140

// source is a Go file that is not generated.
type source struct {
	text   string
	set    *token.FileSet
	parsed *ast.File
}

// forEachSource calls do for every Go file of the repository that is not generated.
func forEachSource(t *testing.T, do func(source)) {
	t.Helper()
	checkout.RequireSources(t)
	root := filepath.Join("..", "..")
	read := 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && file != root && (name == "bin" || name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if !ast.IsGenerated(parsed) {
			read++
			do(source{string(text), set, parsed})
		}
		return nil
	})
	if err != nil || read == 0 {
		t.Fatalf("%d files, %v", read, err)
	}
}

func TestReceiversAreInitialsOfTheirTypes(t *testing.T) {
	forEachSource(t, func(s source) {
		for _, declaration := range s.parsed.Decls {
			receiver, of := receiverOf(declaration)
			if receiver != nil && !fits(receiver.Name, of) {
				t.Errorf("%s: receiver %s of %s: name it %s", s.set.Position(receiver.Pos()), receiver.Name, of, initials(of))
			}
		}
	})
}

// TestLinesFit bounds every line but directives and the lines of raw strings, which cannot be wrapped.
func TestLinesFit(t *testing.T) {
	forEachSource(t, func(s source) {
		file := s.set.Position(s.parsed.Pos()).Filename
		for _, line := range longLines(s) {
			t.Errorf("%s:%d: the line has more than %d columns: wrap it", file, line, maxColumns)
		}
	})
}

// longLines returns the numbers of the lines that are too long.
func longLines(s source) []int {
	raw := map[int]bool{}
	ast.Inspect(s.parsed, func(node ast.Node) bool {
		if literal, is := node.(*ast.BasicLit); is && strings.HasPrefix(literal.Value, "`") {
			for line := s.set.Position(literal.Pos()).Line; line <= s.set.Position(literal.End()).Line; line++ {
				raw[line] = true
			}
		}
		return true
	})
	var out []int
	number := 0
	for line := range strings.Lines(s.text) {
		number++
		trimmed := strings.TrimSpace(line)
		directive := strings.HasPrefix(trimmed, "//go:") || strings.HasPrefix(trimmed, "// +")
		if !raw[number] && !directive && utf8.RuneCountInString(strings.TrimRight(line, "\n")) > maxColumns {
			out = append(out, number)
		}
	}
	return out
}

func TestLongLines(t *testing.T) {
	long := strings.Repeat("a", maxColumns)
	text := "package a\n\n// " + long + "\nvar a = `\n" + long + "b\n` + \"" + long + "\"\n\nvar b = \"" + long + "\"\n" +
		"//go:generate " + long + "\n"
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "a.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if got := longLines(source{text, set, parsed}); !slices.Equal(got, []int{3, 8}) {
		t.Errorf("lines %v are too long, want the comment and the string", got)
	}
}

// receiverOf returns the receiver of a method and the name of its type; nil for other declarations and for a receiver without a name.
func receiverOf(declaration ast.Decl) (receiver *ast.Ident, of string) {
	method, is := declaration.(*ast.FuncDecl)
	if !is || method.Recv == nil || len(method.Recv.List[0].Names) == 0 {
		return nil, ""
	}
	expression := method.Recv.List[0].Type
	for {
		switch inner := expression.(type) {
		case *ast.StarExpr:
			expression = inner.X
		case *ast.IndexExpr:
			expression = inner.X
		case *ast.IndexListExpr:
			expression = inner.X
		case *ast.Ident:
			return method.Recv.List[0].Names[0], inner.Name
		default:
			return nil, ""
		}
	}
}

// fits returns whether a receiver is made of initials of its type, or begins the name of the type.
func fits(receiver, of string) bool {
	return strings.Contains(initials(of), receiver) || strings.HasPrefix(strings.ToLower(of), strings.ToLower(receiver))
}

// initials returns the first letters of the words of a name: hs for httpServer.
func initials(name string) string {
	var out []rune
	former := 'A'
	for n, letter := range name {
		if n == 0 || unicode.IsUpper(letter) && !unicode.IsUpper(former) {
			out = append(out, unicode.ToLower(letter))
		}
		former = letter
	}
	return string(out)
}

func TestFits(t *testing.T) {
	for text, want := range map[string]bool{
		"s State": true, "w State": false, "hs httpServer": true, "s httpServer": true, "tab table": true, "x Index": false,
	} {
		receiver, of, _ := strings.Cut(text, " ")
		if got := fits(receiver, of); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}
