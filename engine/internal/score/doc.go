// Package score owns the prioritizers: each gives every candidate a whole number, by default between -100 and 100. It
// does not read weights or combine scores. Scores are columns: the i-th value belongs to the i-th candidate.
package score
