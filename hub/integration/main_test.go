// Package integration tests a real hub and the programs that run on it.
//
// The tests share one hub and use different namespaces. A test that stops or breaks
// a hub starts its own hub.
package integration

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/berth-project/berth/hub/hubtest"
)

var shared *hubtest.Hub

// boats are given to the hub in an order that only works when sorted.
var boats = fstest.MapFS{
	"1-boat.yaml": &fstest.MapFile{Data: []byte(`
apiVersion: test.berth.dev/v1
kind: Boat
metadata: {name: titanic, namespace: harbour}
spec: {length: 269}
`)},
	"2-harbour.yaml": &fstest.MapFile{Data: []byte(`
apiVersion: v1
kind: Namespace
metadata: {name: harbour}
`)},
	"3-definition.yaml": &fstest.MapFile{Data: []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.test.berth.dev}
spec:
  group: test.berth.dev
  names: {kind: Boat, listKind: BoatList, plural: boats, singular: boat}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              length: {type: integer, description: From stem to stern.}
`)},
}

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manifests: boats}))
}
