package reader

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/version"
)

const (
	// pageSize is how many objects a request lists.
	pageSize = 500
	// maxRestarts is how often a list restarts after its continue token expired.
	maxRestarts = 3
	// A command sends few requests and ends, so the client limits hardly apply.
	clientQPS, clientBurst = 50, 300
)

// HubFlags are kubectl's flags for the hub and the user. They are client-go's own: cli-runtime has the same flags, and its
// dependencies would double the size of the plugin.
type HubFlags struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
	// FilesFlag is the flag of the command that names files to read instead of a hub; empty where it has none.
	FilesFlag string
	// verbosity is the level of client-go's log.
	verbosity int
}

// NewHubFlags returns the flags with the kubeconfig files that kubectl reads.
func NewHubFlags() *HubFlags { return &HubFlags{rules: clientcmd.NewDefaultClientConfigLoadingRules()} }

// Add puts the flags of kubectl into a set. Those that few need are accepted and not listed.
func (f *HubFlags) Add(to *pflag.FlagSet) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.StringVar(&f.rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "", "")
	own.IntVarP(&f.verbosity, "v", "v", 0, "")
	clientcmd.BindOverrideFlags(&f.overrides, own, clientcmd.RecommendedConfigOverrideFlags(""))
	usages := map[string]string{
		"kubeconfig":      "`path` of the kubeconfig to use",
		"context":         "`name` of the context in the kubeconfig",
		"namespace":       "`namespace` to look in (default: that of the context)",
		"request-timeout": "how `long` one request may take, such as 10s; 0 for ever",
		"v":               "`level` of the log of requests: 6 has a line for each, 8 their bodies too",
		"as":              "`user` to impersonate",
		"as-group":        "`group` to impersonate; may be repeated",
	}
	own.VisitAll(func(flag *pflag.Flag) {
		usage, listed := usages[flag.Name]
		if flag.Hidden = !listed; listed {
			flag.Usage = usage
		}
	})
	to.AddFlagSet(own)
}

// Namespace returns that of the command line; empty where it names none.
func (f *HubFlags) Namespace() string { return f.overrides.Context.Namespace }

// CurrentContext returns the name of the context that the flags use of a kubeconfig.
func (f *HubFlags) CurrentContext(of clientcmdapi.Config) string {
	return cmp.Or(f.overrides.CurrentContext, of.CurrentContext)
}

// Loader returns the client configuration that the flags describe.
func (f *HubFlags) Loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules, &f.overrides)
}

// HubClient is a hub that commands read.
type HubClient struct {
	client client.WithWatch
	// config is how to reach it.
	config *rest.Config
	// host is the address of its API server.
	host string
	// Namespace is that of the command line, or of the context.
	Namespace string
	// filesFlag is the flag that names files to read instead; empty where the command has none.
	filesFlag string
	Progress  *printer.Progress
	// UseViews reads the views where the caller may not list the hub; restrictions is what the result lacks.
	UseViews     bool
	restrictions restrictions
}

// errNoKubeconfig reports a missing kubeconfig, and the flag that reads files instead, if there is one.
func errNoKubeconfig(files string) error {
	text := "no kubeconfig: name one with --kubeconfig or in KUBECONFIG, or put it at ~/.kube/config"
	if files != "" {
		text += "; or read files with " + files
	}
	return errors.New(text)
}

// RESTConfig returns the configuration of a client of the hub. Warnings of the hub go to errOut.
func (f *HubFlags) RESTConfig(errOut io.Writer) (*rest.Config, error) {
	if err := logRequests(f.verbosity, errOut); err != nil {
		return nil, err
	}
	loader := f.Loader()
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if len(raw.Clusters) == 0 && f.overrides.ClusterInfo.Server == "" && os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		return nil, errNoKubeconfig(f.FilesFlag)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = clientQPS, clientBurst
	config.UserAgent = "kubectl-berth/" + version.String()
	config.WarningHandler = rest.NewWarningWriter(errOut, rest.WarningWriterOptions{Deduplicate: true})
	return config, nil
}

// Connect returns a client of the hub; it sends no request. Warnings and progress go to errOut.
func (f *HubFlags) Connect(errOut io.Writer, progress *printer.Progress) (*HubClient, error) {
	config, err := f.RESTConfig(errOut)
	if err != nil {
		return nil, err
	}
	namespace, _, err := f.Loader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	types, err := scheme()
	if err != nil {
		return nil, err
	}
	made, err := client.NewWithWatch(config, client.Options{Scheme: types, Mapper: mapper()})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	return &HubClient{client: made, config: config, host: config.Host, Namespace: namespace, filesFlag: f.FilesFlag, Progress: progress}, nil
}

// NewClient returns a client of the hub that flags name. From makes it of a configuration; warnings of the hub go to errOut.
func NewClient[C any](flags *HubFlags, errOut io.Writer, from func(*rest.Config) (C, error)) (C, error) {
	config, err := flags.RESTConfig(errOut)
	if err != nil {
		var none C
		return none, err
	}
	return from(config)
}

// NewWriter returns a client that reads and writes the kinds that commands read.
func NewWriter(config *rest.Config) (client.Client, error) {
	types, err := scheme()
	if err != nil {
		return nil, err
	}
	out, err := client.New(config, client.Options{Scheme: types, Mapper: mapper()})
	if err != nil {
		return nil, fmt.Errorf("making a client of the hub: %w", err)
	}
	return out, nil
}

// logRequests makes client-go log its requests to a writer at a level above 0.
func logRequests(level int, to io.Writer) error {
	if level <= 0 {
		return nil
	}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"v": strconv.Itoa(level), "logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL", "one_output": "true",
	} {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("setting the level of the log: %w", err)
		}
	}
	klog.SetOutput(to)
	return nil
}

// scheme has the types of Berth and of Kubernetes that commands read.
func scheme() (*runtime.Scheme, error) {
	out := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, addonv1alpha1.AddToScheme, clusterv1.AddToScheme, clusterv1alpha1.AddToScheme, clusterv1beta1.AddToScheme,
		clusterv1beta2.AddToScheme, workv1.AddToScheme, workv1alpha1.AddToScheme,
	} {
		if err := add(out); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	return out, nil
}

// mapper maps the kinds that commands read, so that no command needs discovery.
func mapper() meta.RESTMapper {
	out := meta.NewDefaultRESTMapper(nil)
	for _, k := range kinds() {
		scope := meta.RESTScopeRoot
		if k.Namespaced {
			scope = meta.RESTScopeNamespace
		}
		out.Add(k.Version.WithKind(k.Kind), scope)
	}
	return out
}

// ListFilter narrows what is read of a kind; its zero value is everything.
type ListFilter struct {
	Namespace, name string
	selector        labels.Selector
}

// EachObject reads the objects of a kind page by page, all at one resource version, and returns that version. When the
// continue token expires, it calls reset and starts again.
func (h *HubClient) EachObject(ctx context.Context, k Kind, of ListFilter, reset func(), add func(client.Object)) (string, error) {
	for attempt := 1; ; attempt++ {
		reset()
		at, err := h.eachPage(ctx, k, of, add)
		if err == nil || !apierrors.IsResourceExpired(err) || attempt == maxRestarts {
			return at, err
		}
	}
}

func (h *HubClient) eachPage(ctx context.Context, k Kind, of ListFilter, add func(client.Object)) (string, error) {
	options := &client.ListOptions{Namespace: of.Namespace, Limit: pageSize, LabelSelector: of.selector}
	if of.name != "" {
		options.Raw = &metav1.ListOptions{FieldSelector: "metadata.name=" + of.name}
	}
	read := 0
	for {
		h.Progress.Update(k.Plural(), read)
		list := k.List()
		if err := h.listPage(ctx, k, list, options); err != nil {
			return "", err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object, ok := item.(client.Object)
			if !ok {
				return fmt.Errorf("%T is no object", item)
			}
			dropFields(object)
			add(object)
			read++
			return nil
		})
		if err != nil {
			return "", err
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return list.GetResourceVersion(), nil
		}
	}
}

// dropFields removes the field sets of managed fields, which are large. Only their times are printed.
func dropFields(object client.Object) {
	if work, ok := object.(*workv1.ManifestWork); ok {
		work.Spec.Workload = workv1.ManifestsTemplate{} // up to 500 KiB, and nothing of it is printed
	}
	entries := object.GetManagedFields()
	for i := range entries {
		entries[i].FieldsV1 = nil
	}
	object.SetManagedFields(entries)
}
