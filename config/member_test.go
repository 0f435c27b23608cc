package config_test

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/config"
)

func TestAHubInstallsNoKindsOfMembers(t *testing.T) {
	paths := func(files fs.FS) []string {
		var out []string
		err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := []string{
		"about.k8s.io_clusterproperties.yaml", "cluster.open-cluster-management.io_clusterclaims.yaml",
		"work.open-cluster-management.io_appliedmanifestworks.yaml",
	}
	members := paths(config.MemberCRDs())
	if diff := cmp.Diff(want, members); diff != "" {
		t.Errorf("kinds of members (-want +got):\n%s", diff)
	}
	for _, onHub := range paths(config.CRDs()) {
		for _, onMember := range members {
			if onHub == onMember || onHub == "member/"+onMember {
				t.Errorf("a hub installs %s", onHub)
			}
		}
	}
}
