// Package holds has the commands that list what Berth holds back and end it.
package holds
