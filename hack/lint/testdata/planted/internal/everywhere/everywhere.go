// Package everywhere imports what is banned in every package.
package everywhere

import (
	_ "math/rand" // want depguard: use math/rand/v2
	_ "sort"      // want depguard: use slices

	_ "github.com/onsi/gomega"                     // want depguard: use testing and go-cmp
	_ "github.com/pkg/errors"                      // want depguard: use errors and fmt.Errorf
	_ "github.com/stretchr/testify/assert"         // want depguard: use testing and go-cmp
	something "k8s.io/apimachinery/pkg/api/errors" // want importas: must be "apierrors" according to config
	_ "k8s.io/apimachinery/pkg/apis/meta/v1"       // blank imports need no alias
)

var _ = something.Empty
