package deptest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const internal = berth + "internal/"

// house is the content of internal/README.md: the rooms in their order, and the packages as the page lists them.
type house struct{ rooms, packages []string }

// readHouse reads a table whose rows start with the name of a room, and lists whose items start with the path of a package.
func readHouse(page string) house {
	var out house
	for line := range strings.Lines(page) {
		if row, found := strings.CutPrefix(line, "| `"); found {
			name, _, _ := strings.Cut(row, "`")
			out.rooms = append(out.rooms, name)
		}
		if item, found := strings.CutPrefix(line, "* `"); found {
			path, _, _ := strings.Cut(item, "`")
			out.packages = append(out.packages, path)
		}
	}
	return out
}

// roomOf returns the room of a package, which is given by its path below internal.
func roomOf(path string) string {
	room, _, _ := strings.Cut(path, "/")
	return room
}

// order compares two packages by the order of their rooms.
func (h house) order(a, b string) int {
	return slices.Index(h.rooms, roomOf(a)) - slices.Index(h.rooms, roomOf(b))
}

// internalImports returns the imports of a package below internal, as paths below internal.
func (g graph) internalImports(path string) []string {
	var out []string
	for _, imported := range g[internal+path].Imports {
		if other, found := strings.CutPrefix(imported, internal); found {
			out = append(out, other)
		}
	}
	return out
}

func loadHouse(t *testing.T) (house, graph) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "internal", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return readHouse(string(page)), load(t)
}

// TestHouseListsEveryPackage compares the packages of internal/README.md with the folders.
func TestHouseListsEveryPackage(t *testing.T) {
	house, graph := loadHouse(t)
	for _, pkg := range graph.packagesIn([]string{strings.TrimSuffix(internal, "/")}, nil) {
		path := strings.TrimPrefix(pkg, internal)
		if !slices.Contains(house.packages, path) {
			t.Errorf("internal/README.md lacks %s", path)
		}
		if !slices.Contains(house.rooms, roomOf(path)) {
			t.Errorf("internal/README.md gives the room %s no place in its order", roomOf(path))
		}
	}
	for _, path := range house.packages {
		if _, exists := graph[internal+path]; !exists {
			t.Errorf("internal/README.md lists %s, which does not exist", path)
		}
	}
	if !slices.IsSortedFunc(house.packages, house.order) {
		t.Error("internal/README.md lists the packages in another order than the rooms")
	}
}

// TestRoomOrder checks that a room imports only itself and earlier rooms.
func TestRoomOrder(t *testing.T) {
	house, graph := loadHouse(t)
	for _, path := range house.packages {
		for _, imported := range graph.internalImports(path) {
			if house.order(path, imported) < 0 {
				t.Errorf("internal/%s imports internal/%s, whose room is later: move the type that both need to the earlier room", path, imported)
			}
		}
	}
}

// TestControllersRunInTheManager checks that only manager imports a package with a controller. Other rooms share what a controller decides
// by, never the controller.
func TestControllersRunInTheManager(t *testing.T) {
	house, graph := loadHouse(t)
	isController := func(path string) bool {
		return slices.ContainsFunc(graph[internal+path].Imports, func(imported string) bool {
			return imported == "sigs.k8s.io/controller-runtime/pkg/builder" || imported == "sigs.k8s.io/controller-runtime/pkg/controller"
		})
	}
	if !slices.ContainsFunc(house.packages, isController) {
		t.Fatal("found no controller")
	}
	for _, path := range house.packages {
		for _, imported := range graph.internalImports(path) {
			if roomOf(path) != "manager" && isController(imported) {
				t.Errorf("internal/%s imports the controller internal/%s; only internal/manager does", path, imported)
			}
		}
	}
}

// TestReadHouse checks the reader of the page.
func TestReadHouse(t *testing.T) {
	got := readHouse("| room | what |\n|---|---|\n| `kube` | a |\n| `source` | b `c` |\n\n* `source/file`: reads `get -o yaml`\ntext `x`\n")
	if want := []string{"kube", "source"}; !slices.Equal(got.rooms, want) {
		t.Errorf("rooms: got %v, want %v", got.rooms, want)
	}
	if want := []string{"source/file"}; !slices.Equal(got.packages, want) {
		t.Errorf("packages: got %v, want %v", got.packages, want)
	}
	if got.order("source/file", "kube/apply") <= 0 || got.order("kube", "kube/apply") != 0 {
		t.Error("the order is not that of the table")
	}
}
