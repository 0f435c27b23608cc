package hub

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// StartPrometheus starts the prometheus in a folder of binaries, which scrapes one target at "/". The folder stores its data. It returns
// the URL.
func StartPrometheus(ctx context.Context, bin, dir, target string) (*Process, string, error) {
	config := filepath.Join(dir, "prometheus.yaml")
	text := fmt.Sprintf("global: {scrape_interval: 5s}\nscrape_configs: [{job_name: bench, metrics_path: /, "+
		"static_configs: [{targets: [%q]}]}]\n", target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, "", fmt.Errorf("configuring Prometheus: %w", err)
	}
	addresses, err := freeAddresses(1)
	if err != nil {
		return nil, "", err
	}
	out, err := start(ctx, "", filepath.Join(bin, "prometheus"),
		"--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addresses[0])
	if err != nil {
		return nil, "", fmt.Errorf("%w; make bin/prometheus unpacks it", err)
	}
	return out, "http://" + addresses[0], nil
}
