package engine_test

import (
	"testing"

	_ "k8s.io/client-go/kubernetes" // want depguard: list 'engine-io'
)

func TestNothing(*testing.T) {}
