package app

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// setLog sends every log line of the process, those of the client library included, to the logger that the options
// name, or to standard error.
func setLog(options Options) {
	if !options.Logger.IsZero() {
		ctrl.SetLogger(options.Logger)
		return
	}
	least, err := level(options.LogLevel)
	if err != nil {
		least = slog.LevelInfo
	}
	settings := &slog.HandlerOptions{Level: least}
	var handler slog.Handler = slog.NewJSONHandler(os.Stderr, settings)
	if options.LogFormat == "text" {
		handler = slog.NewTextHandler(os.Stderr, settings)
	}
	logger := logr.FromSlogHandler(handler)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
}

func level(name string) (slog.Level, error) {
	var out slog.Level
	if err := out.UnmarshalText([]byte(name)); err != nil {
		return 0, fmt.Errorf("reading the log level %q: %w", name, err)
	}
	return out, nil
}
