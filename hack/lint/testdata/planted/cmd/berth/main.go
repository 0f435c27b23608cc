// Command berth is thin.
package main

import (
	_ "github.com/berth-project/berth/engine" // want depguard: list 'cmd'
)

func main() {}
