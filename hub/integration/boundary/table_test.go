package boundary

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row is a cell of the table: what somebody gets who does something.
type row struct {
	action, who string
	code        int
	// says is the message of a refusal, or what is found after a success.
	says string
}

// TestWhoMayDoWhat lets everybody do everything.
func TestWhoMayDoWhat(t *testing.T) {
	people := newPeople(t, "")
	for _, role := range []string{"set admin", "binder", "viewer"} {
		people[role].may(t, "get", sets+"/team")
	}
	people["set admin"].may(t, "create", clusters)
	people["admin"].may(t, "delete", sets)
	judge(t, matrix, people)
}

// TestARoleToWriteIsNotEnough gives everybody a role to write clusters and bindings.
func TestARoleToWriteIsNotEnough(t *testing.T) {
	people := newPeople(t, "writing ")
	writer := role(t, to("create,get,update,patch", "managedclusters"), to("create,update,patch", "managedclustersetbindings"))
	for _, who := range []string{"set admin", "binder", "viewer", "stranger"} {
		bind(t, people[who].subject(), writer)
		people[who].may(t, "update", clusters)
	}
	judge(t, writers, people)
}

func judge(t *testing.T, rows []row, people map[string]person) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.action+"/"+row.who, func(t *testing.T) {
			act, who := actions[row.action], people[row.who]
			root(t).remove(t, clusters+"/edge")
			people["set admin"].mayNot(t, "delete", clusters+"/edge") // the role of the set follows a moment later
			root(t).create(t, clusters, cluster("edge", "team")).ok(t)
			people["set admin"].may(t, "delete", clusters+"/edge")
			if act.ready != nil {
				act.ready(t)
			}
			got := act.try(t, who)
			want, found := answer{Code: row.code}, row.says
			if row.code == http.StatusForbidden {
				want.Message, found = by(who, row.says), act.untouched
			}
			got.is(t, want.Code, want.Message)
			if act.untouched == "" && row.code == http.StatusForbidden {
				return // it only reads
			}
			if diff := cmp.Diff(found, act.found(t, got)); diff != "" {
				t.Errorf("then (-want +got):\n%s", diff)
			}
		})
	}
}

// newPeople makes the hub of the table, and the people in it with the roles that Berth hands out. Their names begin with
// a prefix, so that roles of one table do not count in the other.
func newPeople(t *testing.T, prefix string) map[string]person {
	t.Helper()
	root(t).create(t, "/api/v1/namespaces", object{"metadata": object{"name": "shop"}}) // it stays for the other table
	for _, name := range []string{"team", "other"} {
		must(t, sets, set(name))
		awaitRoles(t, name)
	}
	must(t, clusters, cluster("vault", "other"))
	people := map[string]person{"agent": agentOf(t, "edge")}
	for _, who := range []string{"admin", "set admin", "binder", "viewer", "stranger"} {
		people[who] = named(t, prefix+who)
	}
	bind(t, people["admin"].subject(), "cluster-admin")
	for who, level := range map[string]string{"set admin": "admin", "binder": "binder", "viewer": "viewer"} {
		bind(t, people[who].subject(), roleOf(level, "team"))
		bindIn(t, "shop", people[who].subject(), "edit")
	}
	bind(t, people["set admin"].subject(), "berth:managedcluster:creator")
	for _, who := range []string{"set admin", "binder", "viewer"} {
		people[who].may(t, "create", placements("shop"))
	}
	return people
}

// TestThePageHasTheTable holds that the page on security says what the tables of this package say, row by row.
func TestThePageHasTheTable(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operations/security.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{
		written(matrix, "admin", "set admin", "binder", "viewer", "agent", "stranger"),
		written(writers, "set admin", "binder", "viewer", "stranger"),
	} {
		if !strings.Contains(string(page), "\n\n"+table+"\n") {
			t.Errorf("the page lacks this table:\n%s", table)
		}
	}
}

// written writes rows as the page has them.
func written(rows []row, people ...string) string {
	var out strings.Builder
	out.WriteString("| | " + strings.Join(people, " | ") + " |\n" + strings.Repeat("|---", len(people)+1) + "|\n")
	var done []string
	for _, first := range rows {
		if slices.Contains(done, first.action) {
			continue
		}
		done = append(done, first.action)
		out.WriteString("| " + first.action)
		for _, who := range people {
			at := slices.IndexFunc(rows, func(r row) bool { return r.action == first.action && r.who == who })
			out.WriteString(" | " + rows[at].word())
		}
		out.WriteString(" |\n")
	}
	return out.String()
}

// word is what the page says of a row.
func (r row) word() string {
	switch {
	case r.action == listViews:
		return r.says
	case r.code < http.StatusBadRequest:
		return "yes"
	case strings.HasPrefix(r.says, "admission webhook"), strings.Contains(r.says, "ValidatingAdmissionPolicy"):
		return "no (right)"
	default:
		return "no (role)"
	}
}
