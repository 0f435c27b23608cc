// Package score owns the prioritizers: each gives every candidate a whole number, by default between -100 and 100,
// and refuses to know the weights or the other prioritizers. Scores are columns: the i-th value belongs to the i-th
// candidate.
package score
