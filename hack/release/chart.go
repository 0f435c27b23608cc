package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// chartVersion finds the version of a chart.
var chartVersion = regexp.MustCompile(`(?m)^version: (\S+)$`)

// packageCharts packages charts as `helm package` does, but without times, so that equal charts make equal packages.
func packageCharts(out string, charts []string) error {
	if err := os.MkdirAll(out, executable); err != nil {
		return fmt.Errorf("making the folder of the charts: %w", err)
	}
	for _, chart := range charts {
		description, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
		if err != nil {
			return fmt.Errorf("reading a chart: %w", err)
		}
		version := chartVersion.FindSubmatch(description)
		if version == nil {
			return fmt.Errorf("the chart %s has no version", chart)
		}
		name := filepath.Base(chart)
		file := filepath.Join(out, fmt.Sprintf("%s-%s.tgz", name, version[1]))
		err = createFile(file, func(to io.Writer) error {
			compressed := gzip.NewWriter(to)
			return errors.Join(writeTar(compressed, os.DirFS(chart), name+"/"), compressed.Close())
		})
		if err != nil {
			return err
		}
	}
	return nil
}
