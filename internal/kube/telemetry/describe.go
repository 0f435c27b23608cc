package telemetry

// DescribeMetrics adds every metric of the package.
func DescribeMetrics(set *Set) {
	newHealth(set, nil)
	newCertificateRequests(set, nil)
	newProbes(set, nil)
	newScores(set)
	newProfiles(set, nil)
	newInventory(set, nil)
}
