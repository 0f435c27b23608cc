// Package model computes what the pages of the console show: from the objects of a fleet, and from the explanation of the run that
// decided. It has no client and no clock. The same code serves a hub and files.
package model
