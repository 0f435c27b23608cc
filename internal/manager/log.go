package manager

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/berth-project/berth/internal/kube/terminal"
)

// configureLogging sends all log lines of the process, including those of the client library, to the logger of the options,
// or to standard error. It returns the logger.
func configureLogging(options Options) logr.Logger {
	if !options.Logger.IsZero() {
		ctrl.SetLogger(options.Logger)
		return options.Logger
	}
	if err := options.NewLogger(); err != nil {
		return ctrl.Log // the options are validated
	}
	ctrl.SetLogger(options.Logger)
	klog.SetLogger(options.Logger)
	return options.Logger
}

// NewLogger sets Logger to a logger that writes to standard error, with LogFormat and LogLevel.
func (o *Options) NewLogger() error {
	least, err := parseLevel(o.LogLevel)
	if err != nil {
		return err
	}
	o.Logger = newLogger(os.Stderr, o.LogFormat, least)
	return nil
}

// newLogger returns a logger that writes lines as "json" or "text", and escapes control characters.
func newLogger(to io.Writer, format string, least slog.Level) logr.Logger {
	settings, lines := &slog.HandlerOptions{Level: least}, terminal.NewWriter(to)
	if format == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(lines, settings))
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(lines, settings))
}

// isExpected reports whether an error needs no operator: the manager stops, or an object is created in a namespace that is being deleted,
// such as the last event of a set.
func isExpected(ctx context.Context, err error) bool {
	return ctx.Err() != nil || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

func parseLevel(name string) (slog.Level, error) {
	var out slog.Level
	if err := out.UnmarshalText([]byte(name)); err != nil {
		return 0, fmt.Errorf("reading the log level %q: %w", name, err)
	}
	return out, nil
}
