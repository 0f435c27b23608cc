package program

import (
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

const (
	defaultScoreEvery = time.Minute
	maxScoreEvery     = 365 * 24 * time.Hour
)

func compileSortBy(in clusterv1beta1.SortByType, path *field.Path) (byScore bool, faults field.ErrorList) {
	switch in {
	case "", clusterv1beta1.SortByClusterName:
		return false, nil
	case clusterv1beta1.SortByScore:
		return true, nil
	default:
		return false, field.ErrorList{field.NotSupported(path, in,
			[]clusterv1beta1.SortByType{clusterv1beta1.SortByClusterName, clusterv1beta1.SortByScore})}
	}
}

func compileRateLimit(in string, path *field.Path) (time.Duration, field.ErrorList) {
	if in == "" {
		return defaultScoreEvery, nil
	}
	every, err := time.ParseDuration(in)
	if !rateLimit.MatchString(in) || err != nil || every > maxScoreEvery {
		return 0, field.ErrorList{field.Invalid(path, in, "must be a number and one of h, m and s, such as 30s, and at most 8760h")}
	}
	return every, nil
}

var rateLimit = regexp.MustCompile(`^[0-9]+[hms]$`)
