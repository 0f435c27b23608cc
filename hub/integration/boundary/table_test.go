package boundary

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/checkout"
)

// row is a cell of the table: the result of an action of a user.
type row struct {
	action, user string
	code         int
	// message is the message of a refusal, or the state after a success.
	message string
}

// TestAccessMatrix tries every action as every user.
func TestAccessMatrix(t *testing.T) {
	users := newUsers(t, "")
	for _, role := range []string{"set admin", "binder", "viewer"} {
		users[role].awaitAllowed(t, "get", sets+"/team")
	}
	users["set admin"].awaitAllowed(t, "create", clusters)
	users["admin"].awaitAllowed(t, "delete", sets)
	runRows(t, matrix, users)
}

// TestARoleToWriteIsNotEnough grants every user a role to write clusters and bindings.
func TestARoleToWriteIsNotEnough(t *testing.T) {
	users := newUsers(t, "writing ")
	writer := role(t, ruleFor("create,get,update,patch", "managedclusters"), ruleFor("create,update,patch", "managedclustersetbindings"))
	for _, caller := range []string{"set admin", "binder", "viewer", "no role"} {
		bindRole(t, users[caller].subject(), writer)
		users[caller].awaitAllowed(t, "update", clusters)
	}
	runRows(t, writers, users)
}

func runRows(t *testing.T, rows []row, users map[string]user) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.action+"/"+row.user, func(t *testing.T) {
			act, caller := actions[row.action], users[row.user]
			adminUser(t).remove(t, clusters+"/edge")
			users["set admin"].awaitDenied(t, "delete", clusters+"/edge") // the role of the set follows a moment later
			adminUser(t).create(t, clusters, cluster("edge", "team")).expectSuccess(t)
			users["set admin"].awaitAllowed(t, "delete", clusters+"/edge")
			if act.ready != nil {
				act.ready(t)
			}
			got := act.try(t, caller)
			want, found := apiResponse{Code: row.code}, row.message
			if row.code == http.StatusForbidden {
				want.Message, found = forUser(caller, row.message), act.untouched
			}
			got.expect(t, want.Code, want.Message)
			if act.untouched == "" && row.code == http.StatusForbidden {
				return // it only reads
			}
			if diff := cmp.Diff(found, act.found(t, got)); diff != "" {
				t.Errorf("then (-want +got):\n%s", diff)
			}
		})
	}
}

// newUsers creates the objects of the table, and the users with the roles that Berth provides. Their names begin with a prefix,
// so that roles of one table do not count in the other.
func newUsers(t *testing.T, prefix string) map[string]user {
	t.Helper()
	adminUser(t).create(t, "/api/v1/namespaces", object{"metadata": object{"name": "shop"}}) // it stays for the other table
	for _, name := range []string{"team", "other"} {
		mustCreate(t, sets, set(name))
		awaitRoles(t, name)
	}
	mustCreate(t, clusters, cluster("vault", "other"))
	users := map[string]user{"agent": newAgent(t, "edge")}
	for _, caller := range []string{"admin", "set admin", "binder", "viewer", "no role"} {
		users[caller] = newNamedUser(t, prefix+caller)
	}
	bindRole(t, users["admin"].subject(), "cluster-admin")
	for caller, level := range map[string]string{"set admin": "admin", "binder": "binder", "viewer": "viewer"} {
		bindRole(t, users[caller].subject(), roleOf(level, "team"))
		bindRoleIn(t, "shop", users[caller].subject(), "edit")
	}
	bindRole(t, users["set admin"].subject(), "berth:managedcluster:creator")
	for _, caller := range []string{"set admin", "binder", "viewer"} {
		users[caller].awaitAllowed(t, "create", placements("shop"))
	}
	return users
}

// TestPageMatchesTheTable compares the page on security with the tables of this package, row by row.
func TestPageMatchesTheTable(t *testing.T) {
	page := kit.Must(os.ReadFile(checkout.Path(t, "docs/operations/security.md"))).In(t)
	for _, table := range []string{
		pageRows(matrix, "admin", "set admin", "binder", "viewer", "agent", "no role"),
		pageRows(writers, "set admin", "binder", "viewer", "no role"),
	} {
		if !strings.Contains(string(page), "\n\n"+table+"\n") {
			t.Errorf("the page lacks this table:\n%s", table)
		}
	}
}

// pageRows renders rows as the page has them.
func pageRows(rows []row, users ...string) string {
	var out strings.Builder
	out.WriteString("| | " + strings.Join(users, " | ") + " |\n" + strings.Repeat("|---", len(users)+1) + "|\n")
	var done []string
	for _, first := range rows {
		if slices.Contains(done, first.action) {
			continue
		}
		done = append(done, first.action)
		out.WriteString("| " + first.action)
		for _, caller := range users {
			at := slices.IndexFunc(rows, func(r row) bool { return r.action == first.action && r.user == caller })
			out.WriteString(" | " + rows[at].pageText())
		}
		out.WriteString(" |\n")
	}
	return out.String()
}

// pageText is the cell of a row on the page.
func (r row) pageText() string {
	switch {
	case r.action == listViews:
		return r.message
	case r.code < http.StatusBadRequest:
		return "yes"
	case strings.HasPrefix(r.message, "admission webhook"), strings.Contains(r.message, "ValidatingAdmissionPolicy"):
		return "no (right)"
	default:
		return "no (role)"
	}
}
