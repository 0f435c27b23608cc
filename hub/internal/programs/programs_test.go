package programs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"
)

func TestAReleaseGetsTheFlagsThatItHas(t *testing.T) {
	flags := []string{"--authentication-config=rules.yaml", "--bind-address=127.0.0.1", "--etcd-servers=e"}
	for release, want := range map[string]string{"1.30.14": "--anonymous-auth=true", "1.32.0": flags[0], "1.35.4": flags[0]} {
		r := &Release{number: version.MustParseSemantic(release)}
		got := r.apiServerFlags(flags, "127.0.0.2", "6443")
		all := []string{want, flags[1], flags[2], "--bind-address=127.0.0.2", "--secure-port=6443"}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("flags of %s (-want +got):\n%s", release, diff)
		}
	}
}

func TestAFolderWithoutProgramsIsRefused(t *testing.T) {
	if _, err := Open(t.Context(), t.TempDir()); err == nil {
		t.Error("an empty folder was opened")
	}
}
