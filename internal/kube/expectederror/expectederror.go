// Package expectederror logs expected errors at info level, such as those of requests that a stopping process cancels. It drops no
// line.
package expectederror

import "github.com/go-logr/logr"

// Logger returns a logger that writes expected errors at info level. Expected must be safe for concurrent use.
func Logger(logger logr.Logger, expected func(err error, message string) bool) logr.Logger {
	inner := logger.GetSink()
	if deep, ok := inner.(logr.CallDepthLogSink); ok {
		inner = deep.WithCallDepth(1) // for the methods below
	}
	return logger.WithSink(&sink{LogSink: inner, expected: expected})
}

type sink struct {
	logr.LogSink

	expected func(err error, message string) bool
}

// Init implements logr.LogSink. The wrapped sink is initialized already.
func (*sink) Init(logr.RuntimeInfo) {}

// Info implements logr.LogSink.
func (s *sink) Info(level int, message string, pairs ...any) {
	s.LogSink.Info(level, message, pairs...)
}

// Error implements logr.LogSink.
func (s *sink) Error(err error, message string, pairs ...any) {
	if s.expected(err, message) {
		s.LogSink.Info(0, message, append([]any{"cause", errorText(err)}, pairs...)...)
		return
	}
	s.LogSink.Error(err, message, pairs...)
}

// WithValues implements logr.LogSink.
func (s *sink) WithValues(pairs ...any) logr.LogSink {
	return &sink{LogSink: s.LogSink.WithValues(pairs...), expected: s.expected}
}

// WithName implements logr.LogSink.
func (s *sink) WithName(name string) logr.LogSink {
	return &sink{LogSink: s.LogSink.WithName(name), expected: s.expected}
}

// WithCallDepth implements logr.CallDepthLogSink.
func (s *sink) WithCallDepth(depth int) logr.LogSink {
	if deep, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return &sink{LogSink: deep.WithCallDepth(depth), expected: s.expected}
	}
	return s
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
