module github.com/berth-project/berth/rollout

go 1.26.0

require (
	github.com/berth-project/berth/api v0.1.0
	github.com/berth-project/berth/decision v0.1.0
	github.com/google/go-cmp v0.7.0
	k8s.io/apimachinery v0.36.3
)

// The modules of this repository have one version. Those who require one get the others from its tag.
replace (
	github.com/berth-project/berth/api => ../api
	github.com/berth-project/berth/decision => ../decision
)
