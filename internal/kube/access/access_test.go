package access_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/berth-project/berth/internal/kube/access"
)

const group = "cluster.open-cluster-management.io"

var bind = access.Permission{Verb: "create", Group: group, Resource: "managedclustersets/bind"}

func role(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

func binding(role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role + "-binding"},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: role}, Subjects: subjects,
	}
}

func rule(verb, apiGroup, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{apiGroup}, Resources: []string{resource}, ResourceNames: names}
}

func TestAllowedNames(t *testing.T) {
	account := rbacv1.Subject{Kind: "ServiceAccount", Namespace: "team", Name: "placement"}
	everyAccount := rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts"}
	teamAccounts := rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts:team"}
	asUser := rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:team:placement"}
	other := rbacv1.Subject{Kind: "User", Name: "other"}
	for sentence, test := range map[string]struct {
		rule    rbacv1.PolicyRule
		subject rbacv1.Subject
		want    access.NameSet
	}{
		"a rule with names grants those": {
			rule("create", group, "managedclustersets/bind", "dev", "test"), account,
			access.NameSet{Names: sets.New("dev", "test")},
		},
		"a rule without names grants all": {rule("create", group, "managedclustersets/bind"), account, access.NameSet{All: true}},
		"a literal star among the names is a name": {
			rule("create", group, "managedclustersets/bind", "*"), account,
			access.NameSet{Names: sets.New("*")},
		},
		"every verb includes this one": {
			rule("*", group, "managedclustersets/bind", "dev"), account,
			access.NameSet{Names: sets.New("dev")},
		},
		"every group includes this one": {
			rule("create", "*", "managedclustersets/bind", "dev"), account,
			access.NameSet{Names: sets.New("dev")},
		},
		"every resource includes subresources": {rule("create", group, "*", "dev"), account, access.NameSet{Names: sets.New("dev")}},
		"a subresource of every resource":      {rule("create", group, "*/bind", "dev"), account, access.NameSet{Names: sets.New("dev")}},
		"the resource itself is not its subresource": {
			rule("create", group, "managedclustersets", "dev"), account,
			access.NameSet{Names: sets.New[string]()},
		},
		"another subresource grants nothing": {
			rule("create", group, "managedclustersets/join", "dev"), account,
			access.NameSet{Names: sets.New[string]()},
		},
		"another verb grants nothing": {
			rule("get", group, "managedclustersets/bind", "dev"), account,
			access.NameSet{Names: sets.New[string]()},
		},
		"another group grants nothing": {
			rule("create", "apps", "managedclustersets/bind", "dev"), account,
			access.NameSet{Names: sets.New[string]()},
		},
		"a group of all service accounts counts": {
			rule("create", group, "managedclustersets/bind", "dev"), everyAccount,
			access.NameSet{Names: sets.New("dev")},
		},
		"a group of the namespace's accounts counts": {
			rule("create", group, "managedclustersets/bind", "dev"), teamAccounts,
			access.NameSet{Names: sets.New("dev")},
		},
		"an account named as a user counts": {
			rule("create", group, "managedclustersets/bind", "dev"), asUser,
			access.NameSet{Names: sets.New("dev")},
		},
		"a grant to another subject does not count": {
			rule("create", group, "managedclustersets/bind", "dev"), other,
			access.NameSet{Names: sets.New[string]()},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			index := access.NewIndex()
			index.SetRole(role("r", test.rule))
			index.SetBinding(binding("r", test.subject))
			got := index.AllowedNames(access.ServiceAccount("team", "placement"), bind)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGrantsEnd(t *testing.T) {
	account := rbacv1.Subject{Kind: "ServiceAccount", Namespace: "team", Name: "placement"}
	for sentence, end := range map[string]func(*access.Index){
		"with the role":                 func(x *access.Index) { x.DeleteRole("r") },
		"with the binding":              func(x *access.Index) { x.DeleteBinding("r-binding") },
		"when the role loses its rules": func(x *access.Index) { x.SetRole(role("r")) },
		"when the binding gets another subject": func(x *access.Index) {
			x.SetBinding(binding("r", rbacv1.Subject{Kind: "User", Name: "other"}))
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			index := access.NewIndex()
			index.SetRole(role("r", rule("create", group, "managedclustersets/bind", "dev")))
			index.SetBinding(binding("r", account))
			if !index.AllowedNames(access.ServiceAccount("team", "placement"), bind).Has("dev") {
				t.Fatal("there is no grant at the start")
			}
			end(index)
			if index.AllowedNames(access.ServiceAccount("team", "placement"), bind).Has("dev") {
				t.Error("the grant did not end")
			}
		})
	}
}
