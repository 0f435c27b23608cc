module github.com/berth-project/berth/api

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	k8s.io/api v0.36.3
	k8s.io/apimachinery v0.36.3
)
