module github.com/berth-project/berth/examples/controller

go 1.26.0

require (
	github.com/berth-project/berth/api v0.1.0
	github.com/berth-project/berth/client v0.1.0
	github.com/berth-project/berth/decision v0.1.0
	k8s.io/api v0.36.3
	k8s.io/apimachinery v0.36.3
	k8s.io/client-go v0.36.3
)

// This example is built from the checkout that it is in. Leave this out in a module of your own.
replace (
	github.com/berth-project/berth/api => ../../api
	github.com/berth-project/berth/client => ../../client
	github.com/berth-project/berth/decision => ../../decision
)
