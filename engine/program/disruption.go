package program

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

const (
	defaultInterval = 10 * time.Minute
	minInterval     = time.Second
	maxInterval     = 7 * 24 * time.Hour
)

// Budget is spec.disruptionPolicy.
type Budget struct {
	// Count is the number of clusters, or the percentage of the selected clusters if Percent is set.
	Count   int
	Percent bool
	// Interval is at least a second.
	Interval time.Duration
}

// Allows returns how many of the selected clusters may be removed within the interval; a percentage rounds up.
func (b Budget) Allows(selected int) int {
	if b.Percent {
		return (b.Count*selected + 99) / 100
	}
	return b.Count
}

// defaultStabilization is the wait of clusters of an earlier tier where the placement gives none: a cluster that fails and recovers again
// and again displaces nothing.
const defaultStabilization = 5 * time.Minute

func compileFailback(in *clusterv1beta1.FailbackPolicy, tiers bool, path *field.Path) (time.Duration, field.ErrorList) {
	if in == nil || in.StabilizationSeconds == nil {
		if tiers {
			return defaultStabilization, nil
		}
		return 0, nil
	}
	seconds := *in.StabilizationSeconds
	if seconds < 0 {
		return 0, field.ErrorList{field.Invalid(path.Child("stabilizationSeconds"), seconds, "must be 0 or more")}
	}
	return time.Duration(seconds) * time.Second, nil
}

func compileBudget(in *clusterv1beta1.DisruptionPolicy, path *field.Path) (*Budget, field.ErrorList) {
	if in == nil {
		return nil, nil
	}
	var faults field.ErrorList
	count, percent, err := parseMaxUnavailable(in.MaxUnavailable)
	if err != nil {
		faults = append(faults, field.Invalid(path.Child("maxUnavailable"), in.MaxUnavailable.String(), err.Error()))
	}
	interval := in.Interval.Duration
	if interval == 0 {
		interval = defaultInterval
	}
	if interval < minInterval || interval > maxInterval {
		faults = append(faults, field.Invalid(path.Child("interval"), interval.String(), "must be from 1s to 168h"))
	}
	return &Budget{Count: count, Percent: percent, Interval: interval}, faults
}

var errUnavailable = errors.New("must be a number of clusters, 0 or more, or a percentage from 0% to 100%")

func parseMaxUnavailable(in intstr.IntOrString) (count int, percent bool, err error) {
	text, percent := in.String(), false
	if in.Type == intstr.String {
		text, percent = strings.CutSuffix(text, "%")
	}
	most := uint64(math.MaxInt32)
	if percent {
		most = 100
	}
	parsed, err := strconv.ParseUint(text, 10, 31)
	if err != nil || parsed > most {
		return 0, false, errUnavailable
	}
	return int(parsed), percent, nil
}
