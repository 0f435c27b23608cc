module github.com/berth-project/berth/client

go 1.26.0

require (
	github.com/berth-project/berth/api v0.1.0
	k8s.io/apimachinery v0.36.3
	k8s.io/client-go v0.36.3
)

// The modules of this repository have one version. Those who require one get the others from its tag.
replace (
	github.com/berth-project/berth/api => ../api
)
