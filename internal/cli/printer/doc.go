// Package printer writes what the commands print: tables that fit the screen, colours, progress, and objects as JSON or YAML.
package printer
