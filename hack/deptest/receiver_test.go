package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/berth-project/berth/internal/checkout"
)

// TestReceiversAreInitialsOfTheirTypes reads every Go file that is not generated.
func TestReceiversAreInitialsOfTheirTypes(t *testing.T) {
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
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(parsed) {
			return nil
		}
		read++
		for _, declaration := range parsed.Decls {
			receiver, of := receiverOf(declaration)
			if receiver != nil && !fits(receiver.Name, of) {
				t.Errorf("%s: receiver %s of %s: name it %s", set.Position(receiver.Pos()), receiver.Name, of, initials(of))
			}
		}
		return nil
	})
	if err != nil || read == 0 {
		t.Fatalf("%d files, %v", read, err)
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
