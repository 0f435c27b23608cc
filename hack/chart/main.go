// Command chart copies the manifests of config/ that the Helm charts install into the charts, so that both are the same.
//
// It owns charts/*/files. A chart cannot read files outside of its folder. The charts render the copies as they are, so nothing in them is
// a template. The namespace is left out, because Helm creates it.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// namespace is the namespace of a release.
	namespace = "berth-system"
	header    = "# Copied from %s by `make generate`. Do not edit.\n"
	// folderMode and fileMode are those of files in a repository.
	folderMode, fileMode = 0o755, 0o644
)

// copied is a folder of config that a chart has.
type copied struct {
	chart string
	// from has files and folders below config.
	from []string
}

func charts() []copied {
	return []copied{
		{chart: "berth", from: []string{
			"addon", "apiserver/access.yaml", "certmanager", "delivery", "inventory", "kueue", "manager", "monitoring/alerts.yaml",
			"monitoring/dashboard.json", "probe/role.yaml", "profile", "protection", "rbac", "registration", "roles", "score",
			"webhookroles",
		}},
		{chart: "berth-agent", from: []string{"work/records.yaml", "work/admin.yaml"}},
	}
}

func main() {
	for _, c := range charts() {
		if err := c.write(); err != nil {
			fmt.Fprintln(os.Stderr, "chart:", err)
			os.Exit(1)
		}
	}
}

// write replaces the copies of a chart.
func (c copied) write() error {
	target := filepath.Join("charts", c.chart, "files")
	if err := os.RemoveAll(target); err != nil {
		return fmt.Errorf("removing the copies of the chart %s: %w", c.chart, err)
	}
	for _, from := range c.from {
		files, err := manifests(filepath.Join("config", from))
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := copyManifest(file, filepath.Join(target, strings.TrimPrefix(file, "config/"))); err != nil {
				return err
			}
		}
	}
	return nil
}

// manifests returns a file, or the YAML files of a folder.
func manifests(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading a manifest of the charts: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	out, err := filepath.Glob(filepath.Join(path, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("listing the manifests in %s: %w", path, err)
	}
	return out, nil
}

func copyManifest(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("reading a manifest: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(to), folderMode); err != nil {
		return fmt.Errorf("making a folder of a chart: %w", err)
	}
	if filepath.Ext(from) == ".yaml" {
		content = append(fmt.Appendf(nil, header, from), withoutNamespace(content)...)
	}
	if err := os.WriteFile(to, content, fileMode); err != nil {
		return fmt.Errorf("writing a manifest of a chart: %w", err)
	}
	return nil
}

// withoutNamespace returns the documents of a manifest but the namespace of the release.
func withoutNamespace(content []byte) []byte {
	separator := []byte("\n---\n")
	var out [][]byte
	for document := range bytes.SplitSeq(content, separator) {
		if !bytes.Contains(document, []byte("kind: Namespace\nmetadata:\n  name: "+namespace)) {
			out = append(out, document)
		}
	}
	return bytes.Join(out, separator)
}
