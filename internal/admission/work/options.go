package work

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/berth-project/berth/internal/delivery/validation"
)

// maxManifestLimit is how many bytes etcd accepts in one request.
const maxManifestLimit = 1536 * 1024

// Options configures the webhooks. Flags set all of it.
type Options struct {
	// NilExecutor is what happens to works without an executor.
	NilExecutor NilExecutor
	// ManifestLimit is how many bytes the manifests of one work may have together. It also holds for what the hub makes works from.
	ManifestLimit int
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options {
	return Options{NilExecutor: NilExecutorWarn, ManifestLimit: validation.DefaultManifestLimit}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar((*string)(&o.NilExecutor), "nil-executor", string(o.NilExecutor),
		"what the webhooks do with a ManifestWork without spec.executor, which the agent applies with its own permissions: ignore, warn, "+
			"or review, which requires the verb execute-as on manifestworks with the resourceName system:serviceaccount::klusterlet-work-sa")
	flags.IntVar(&o.ManifestLimit, "manifest-limit", o.ManifestLimit, "bytes that the manifests of one ManifestWork may have together")
}

// Validate returns every fault of the flags.
func (o *Options) Validate() []string {
	var out []string
	if !slices.Contains(NilExecutors(), string(o.NilExecutor)) {
		out = append(out, fmt.Sprintf("--nil-executor %q: must be %s", o.NilExecutor, strings.Join(NilExecutors(), ", ")))
	}
	if o.ManifestLimit < 1 || o.ManifestLimit > maxManifestLimit {
		out = append(out, fmt.Sprintf("--manifest-limit %d: must be 1 to %d, since the API server stores no larger objects",
			o.ManifestLimit, maxManifestLimit))
	}
	return out
}
