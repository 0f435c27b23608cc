//go:build slow

package membercluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

var errNotDelivered = errors.New("not delivered yet")

// TestAMemberReturnsFromItsBackup makes a backup of a member that runs, and restores it in another place. The member is the same for the
// hub: it joins without a token and a certificate request, keeps what was delivered, and gets what changed since.
func TestAMemberReturnsFromItsBackup(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manager: true, TaintUnjoined: true})
	admin, data, folder := kit.New(t, hub), t.TempDir(), t.TempDir()
	member := startMember(t, admin, data, hub.JoinFlags(t, name, registration.DriverCSR))
	storeWork(t, admin, "before", "1")
	uid := awaitDelivered(t, member, "before", "1")
	file, restored := filepath.Join(folder, "member.backup"), filepath.Join(folder, "restored")
	berthHub(t, nil, "backup", file, "--data-dir="+data)
	storeWork(t, admin, "before", "2")
	storeWork(t, admin, "after", "1")
	awaitDelivered(t, member, "before", "2")
	lost := awaitDelivered(t, member, "after", "1")
	kit.NoError(t, member.Stop())
	kit.Await(t, "the stopped member is unknown", reported(admin, metav1.ConditionUnknown))

	start := "Start the member: berth-hub member --name " + name + " --data-dir " + restored
	if printed := berthHub(t, nil, "restore", file, "--data-dir="+restored); !strings.Contains(printed, start) {
		t.Errorf("restore prints %q, want %q in it", printed, start)
	}
	berthHub(t, []string{"is that of a member", "berth-hub member --name " + name}, "--data-dir="+restored)
	berthHub(t, []string{"it has the data of a hub"}, "member", "--name=b", "--data-dir="+hub.DataDir(), "--hub=https://127.0.0.1:1",
		"--token=t", "--ca-hash=h")

	again := hubtest.New(t, hubtest.Options{DataDir: restored, Member: []string{"--name=" + name}})
	kit.Await(t, "the restored member reports", reported(admin, metav1.ConditionTrue))
	if got := awaitDelivered(t, again, "before", "2"); got != uid {
		t.Errorf("the object that was delivered before the backup has the UID %s, before %s", got, uid)
	}
	if got := awaitDelivered(t, again, "after", "1"); got == lost {
		t.Error("the object that was delivered after the backup has its former UID: this is not the backup")
	}
	requests := &certificatesv1.CertificateSigningRequestList{}
	if err := admin.List(t.Context(), requests); err != nil || len(requests.Items) != 1 {
		t.Errorf("%d certificate requests, %v; want only the first of the member", len(requests.Items), err)
	}
}

// storeWork stores a work with a ConfigMap of the same name.
func storeWork(t *testing.T, admin *kit.Client, of, value string) {
	t.Helper()
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":%q},"data":{"value":%q}}`, of, value)
	work := kit.Work(name, of)
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(work), work); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	work.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(text)}}}
	store := func() error { return admin.Create(t.Context(), work) }
	if work.UID != "" {
		store = func() error { return admin.Update(t.Context(), work) }
	}
	kit.NoError(t, store())
}

// awaitDelivered waits until a member has the ConfigMap of a work, and returns its UID.
func awaitDelivered(t *testing.T, member *hubtest.Hub, of, value string) types.UID {
	t.Helper()
	on, found := kit.New(t, member), &corev1.ConfigMap{}
	kit.Await(t, "a member has the ConfigMap of a work", func(ctx context.Context) error {
		if err := on.Get(ctx, client.ObjectKey{Namespace: "default", Name: of}, found); err != nil {
			return err
		}
		if found.Data["value"] != value {
			return fmt.Errorf("%s has %q, want %q: %w", of, found.Data["value"], value, errNotDelivered)
		}
		return nil
	})
	return found.UID
}

// berthHub runs a command of berth-hub and returns what it prints. With texts, it must fail with them.
func berthHub(t *testing.T, fault []string, args ...string) string {
	t.Helper()
	program := kit.Must(hubtest.Binary()).In(t)
	printed, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if (err == nil) != (len(fault) == 0) {
		t.Fatalf("berth-hub %v: %v: %s", args, err, printed)
	}
	for _, text := range fault {
		if !strings.Contains(string(printed), text) {
			t.Errorf("berth-hub %v prints %q, want %q in it", args, printed, text)
		}
	}
	return string(printed)
}
