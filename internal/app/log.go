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
	if err := options.NewLogger(); err != nil {
		return // validated before
	}
	ctrl.SetLogger(options.Logger)
	klog.SetLogger(options.Logger)
}

// NewLogger sets Logger to one that writes to standard error, as LogFormat and LogLevel say.
func (o *Options) NewLogger() error {
	least, err := level(o.LogLevel)
	if err != nil {
		return err
	}
	settings := &slog.HandlerOptions{Level: least}
	var handler slog.Handler = slog.NewJSONHandler(os.Stderr, settings)
	if o.LogFormat == "text" {
		handler = slog.NewTextHandler(os.Stderr, settings)
	}
	o.Logger = logr.FromSlogHandler(handler)
	return nil
}

func level(name string) (slog.Level, error) {
	var out slog.Level
	if err := out.UnmarshalText([]byte(name)); err != nil {
		return 0, fmt.Errorf("reading the log level %q: %w", name, err)
	}
	return out, nil
}
