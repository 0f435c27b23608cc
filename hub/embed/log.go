package embed

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	_ "unsafe" // for go:linkname

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/berth-project/berth/internal/kube/expectederror"
)

// Logs configures the logs of the components.
type Logs struct {
	// Writer receives every line. It must be safe for concurrent use.
	Writer io.Writer
	// Verbosity is klog's level: 0 is quiet, 2 is usual for servers, 4 is debugging.
	Verbosity int
	// Fatal is called when a component calls a fatal log function, which would end the process. The calling goroutine ends
	// instead.
	Fatal func(error)
	// Stopping returns whether the hub is stopping. From then on, an error that follows from stopping is logged as information.
	// nil means never.
	Stopping func() bool
}

// lateShutdown begins the message of a server some of whose requests, such as watches, outlive its grace. It has no error.
const lateShutdown = "Failed to shutdown server: "

// missingOpenAPI and missingResponse are in the errors of an API server that reads from the views after the manager that serves them has
// stopped.
const (
	missingOpenAPI  = "loading OpenAPI spec for "
	missingResponse = "failing or missing response from "
)

// expected returns whether an error follows from stopping: canceled work, a closed server or connection, or a request without a
// response.
func (l Logs) expected(err error, message string) bool {
	if l.Stopping == nil || !l.Stopping() {
		return false
	}
	if strings.HasPrefix(message, lateShutdown) {
		return true
	}
	if err != nil && (strings.Contains(err.Error(), missingOpenAPI) || strings.Contains(err.Error(), missingResponse)) {
		return true
	}
	unanswered := &url.Error{}
	return errors.Is(err, context.Canceled) || errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &unanswered)
}

// Route sends all logs of Kubernetes to the writer. It changes process globals, so it is called once, before any component
// starts.
func (l Logs) Route() error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Set("v", strconv.Itoa(l.Verbosity)); err != nil {
		return fmt.Errorf("setting the log level: %w", err)
	}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(l.Writer), textlogger.Verbosity(l.Verbosity)))
	klog.SetLoggerWithOptions(expectederror.Logger(logger, l.expected), klog.ContextualLogger(true))
	// gRPC reports every opened and closed connection. Only errors matter here.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, l.Writer))
	etcdClientLogger = zap.New(l.etcdCore()).Named("etcd-client")
	klog.OsExit = func(code int) {
		l.Fatal(fmt.Errorf("running Kubernetes: a component ended the process with exit code %d; see the end of the hub's log", code))
		runtime.Goexit()
	}
	return nil
}

// DiscardGRPC drops what gRPC logs, for a process that only is a client of etcd: its errors are returned. It is called before the first
// connection.
func DiscardGRPC() {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
}

// etcdClientLogger is the logger of the API server's client of etcd. Its default is standard error, where it would mix with the
// output of the hub, and the API server has no option for it.
//
//go:linkname etcdClientLogger k8s.io/apiserver/pkg/storage/storagebackend/factory.etcd3ClientLogger
var etcdClientLogger *zap.Logger //nolint:gochecknoglobals // another package's variable

// etcdLogger returns the logger for etcd. Where etcd would panic or end the
// process, it reports to broken and ends the goroutine only.
func (l Logs) etcdLogger(broken chan<- error) *zap.Logger {
	hook := fatalHook{broken: broken}
	return zap.New(l.etcdCore(), zap.WithFatalHook(hook), zap.WithPanicHook(hook))
}

// etcdCore writes what etcd and its client log.
func (l Logs) etcdCore() zapcore.Core {
	level := zapcore.WarnLevel
	if l.Verbosity > 0 {
		level = zapcore.InfoLevel
	}
	format := zap.NewProductionEncoderConfig()
	format.EncodeTime = zapcore.ISO8601TimeEncoder
	return demotingCore{zapcore.NewCore(zapcore.NewConsoleEncoder(format), zapcore.Lock(zapcore.AddSync(l.Writer)), level), l.expected}
}

// demotingCore logs expected errors as information.
type demotingCore struct {
	zapcore.Core

	expected func(err error, message string) bool
}

// With implements zapcore.Core.
func (c demotingCore) With(fields []zapcore.Field) zapcore.Core {
	return demotingCore{c.Core.With(fields), c.expected}
}

// Check implements zapcore.Core.
func (c demotingCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c demotingCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok && entry.Level == zapcore.ErrorLevel && c.expected(err, entry.Message) {
			entry.Level = zapcore.InfoLevel
		}
	}
	return c.Core.Write(entry, fields)
}

// fatalHook replaces zap's exit and panic.
type fatalHook struct {
	broken chan<- error
}

// OnWrite reports the entry with its error field, if it has one. Later entries are only logged.
func (h fatalHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	err := errors.New(entry.Message)
	for _, field := range fields {
		if cause, ok := field.Interface.(error); ok {
			err = fmt.Errorf("%s: %w", entry.Message, cause)
		}
	}
	select {
	case h.broken <- err:
	default:
	}
	runtime.Goexit()
}
