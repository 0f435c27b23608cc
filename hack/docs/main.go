// Command docs generates pages of docs/ from the code that they describe.
//
// It owns the form of the pages. It reads only data that is compiled into it, so two runs write the same bytes.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/internal/agent"
	"github.com/berth-project/berth/internal/agent/metrics"
	"github.com/berth-project/berth/internal/cli"
	"github.com/berth-project/berth/internal/cli/scenario"
	"github.com/berth-project/berth/internal/manager"
)

// page is one file under docs and the function that writes it. A new reference is a new line in pages.
type page struct {
	file  string
	write func(io.Writer) error
}

func main() {
	pages := []page{
		{"reference/api.md", func(w io.Writer) error { return writeAPI(w, config.CRDs(), config.MemberCRDs()) }},
		{"reference/cli.md", func(w io.Writer) error {
			return writeCLI(w, cli.NewRoot(genericiooptions.IOStreams{}, clock.RealClock{}), manager.NewCommand(), agent.NewCommand())
		}},
		{"reference/scenario.schema.json", func(w io.Writer) error { _, err := w.Write(scenario.Schema()); return err }},
		{"reference/metrics.md", func(w io.Writer) error { return writeMetrics(w, manager.MetricDefinitions(), metrics.Definitions()) }},
	}
	for _, p := range pages {
		if err := save(filepath.Join("docs", p.file), p.write); err != nil {
			fmt.Fprintf(os.Stderr, "docs: %v\n", err)
			os.Exit(1)
		}
	}
}

func save(path string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	file, err := os.Create(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	if err := write(file); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
