package hub_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berth-project/berth/hub"
)

var errBoom = errors.New("boom")

func TestStartRefusesBadOptions(t *testing.T) {
	manifests := fstest.MapFS{"bad.yaml": &fstest.MapFile{Data: []byte("kind: [")}}
	cases := map[string]struct {
		opts hub.Options
		want string
	}{
		"no folder":   {want: "no data folder given"},
		"bad port":    {opts: hub.Options{DataDir: t.TempDir(), Port: 70000}, want: "port 70000 is not between 0 and 65535"},
		"bad address": {opts: hub.Options{DataDir: t.TempDir(), Listen: "hub.example"}, want: "\"hub.example\" is no IP address"},
		"no URL":      {opts: hub.Options{DataDir: t.TempDir(), Listen: "0.0.0.0"}, want: "needs the URL that agents use"},
		"bad URL": {
			opts: hub.Options{DataDir: t.TempDir(), AdvertiseURL: "http://hub.example"},
			want: "is not of the form https://HOST:PORT",
		},
		"bad name":     {opts: hub.Options{DataDir: t.TempDir(), SANs: []string{"*"}}, want: "neither a DNS name nor an IP address"},
		"bad manifest": {opts: hub.Options{DataDir: t.TempDir(), Manifests: []fs.FS{manifests}}, want: "parsing bad.yaml"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := hub.Start(t.Context(), c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Start = %v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestManagerRunsAsItsIdentityAndItsFailureStopsTheHub is one test because a
// process has one hub.
func TestManagerRunsAsItsIdentityAndItsFailureStopsTheHub(t *testing.T) {
	fail := make(chan struct{})
	users, admins := make(chan authenticationv1.UserInfo, 1), make(chan authenticationv1.UserInfo, 1)
	opts := hub.Options{
		DataDir: t.TempDir(),
		NoFsync: true,
		Manager: func(ctx context.Context, kubeconfig string) error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return err
			}
			user, err := currentUser(ctx, config)
			if err != nil {
				return err
			}
			users <- user
			<-fail
			return errBoom
		},
		ManagerReady: func(ctx context.Context, admin *rest.Config) error {
			user, err := currentUser(ctx, admin)
			admins <- user
			return err
		},
		ManagerIdentity: hub.Identity{User: "system:serviceaccount:berth:manager", Groups: []string{"system:serviceaccounts"}},
	}
	running, err := hub.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case admin := <-admins:
		if admin.Username != "berth-admin" {
			t.Errorf("the hub waited for the manager as %s, want the administrator", admin.Username)
		}
	default:
		t.Error("the hub was ready before the manager")
	}
	user := <-users
	want := []string{"system:serviceaccount:berth:manager", "system:serviceaccounts", "system:authenticated"}
	if diff := cmp.Diff(want, append([]string{user.Username}, user.Groups...)); diff != "" {
		t.Errorf("the manager's user and groups (-want +got):\n%s", diff)
	}
	if running.Kubeconfig() != filepath.Join(opts.DataDir, "admin.kubeconfig") {
		t.Errorf("Kubeconfig = %s, want it in the data folder", running.Kubeconfig())
	}
	info, err := os.Stat(running.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig has mode %o, want 600", info.Mode().Perm())
	}
	if _, err := hub.Start(t.Context(), hub.Options{DataDir: t.TempDir()}); !errors.Is(err, hub.ErrStarted) {
		t.Errorf("second Start = %v, want %v", err, hub.ErrStarted)
	}
	close(fail)
	if err := running.Wait(); !errors.Is(err, errBoom) {
		t.Errorf("Wait = %v, want %v", err, errBoom)
	}
}

func currentUser(ctx context.Context, config *rest.Config) (authenticationv1.UserInfo, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return review.Status.UserInfo, nil
}
