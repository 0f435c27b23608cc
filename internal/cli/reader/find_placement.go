package reader

import (
	"fmt"
	"strings"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

// PlacementIn finds the one placement of a name and a namespace. An empty name or namespace matches every placement.
func PlacementIn(bundle *file.Bundle, namespace, name string) (*clusterv1beta1.Placement, error) {
	var found []*clusterv1beta1.Placement
	var all, matching []string
	for _, placement := range bundle.Placements {
		key := file.KeyOf(placement)
		all = append(all, key.String())
		if (name == "" || key.Name == name) && (namespace == "" || key.Namespace == namespace) {
			found, matching = append(found, placement), append(matching, key.String())
		}
	}
	wanted, missing := "", "no placement is found"
	if name != "" {
		wanted = "placement " + strings.TrimPrefix(namespace+"/"+name, "/")
		missing = wanted + " is not found"
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1 && name != "":
		return nil, fmt.Errorf("%s is in several namespaces; name one with -n: %s", wanted, phrase.Join(matching, MaxNamed))
	case len(found) > 1:
		return nil, fmt.Errorf("several placements match; name one: %s", phrase.Join(matching, MaxNamed))
	case len(all) == 0:
		return nil, fmt.Errorf("%s: the input holds no Placement", missing)
	default:
		return nil, fmt.Errorf("%s: the input holds %s", missing, phrase.Join(all, MaxNamed))
	}
}

// MaxNamed is how many placements an error names.
const MaxNamed = 10
