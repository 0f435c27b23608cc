package gather

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/internal/install/preflight/upgrade"
	"github.com/berth-project/berth/internal/kube/version"
)

// Defaults of Options.
const (
	DefaultMaxObjects = 10_000
	DefaultMaxBytes   = 256 << 20
	// sharedFactor is how many objects of a kind that others use are looked at for each that may be kept.
	sharedFactor = 10
)

// Options bounds what is collected.
type Options struct {
	// Namespace is the only namespace whose objects are collected, beside those of the manager and those without a namespace; empty for
	// all.
	Namespace string
	// MaxObjects is how many objects of one kind are collected.
	MaxObjects int
	// MaxBytes is how many bytes the files have together, before they are compressed.
	MaxBytes int64
	// Now is the time on the files.
	Now time.Time
}

// Part is what was collected of one kind.
type Part struct {
	// Name is the resource with its group, and the namespace where only one was read.
	Name string
	// Objects were collected. Redacted of their values were left out.
	Objects, Redacted int
	// Problem is why objects are missing; empty where all are there.
	Problem string
}

// Report is what was collected, in the order of the archive.
type Report struct{ Parts []Part }

// Problems returns the parts with missing objects.
func (r Report) Problems() []Part {
	var out []Part
	for _, part := range r.Parts {
		if part.Problem != "" {
			out = append(out, part)
		}
	}
	return out
}

// String returns one line for each part.
func (r Report) String() string {
	var out strings.Builder
	for _, part := range r.Parts {
		fmt.Fprintf(&out, "%s: %d collected, %d values left out", part.Name, part.Objects, part.Redacted)
		if part.Problem != "" {
			fmt.Fprintf(&out, "; incomplete: %s", part.Problem)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// collector writes one archive.
type collector struct {
	Options

	objects dynamic.Interface
	server  *discovery.DiscoveryClient
	archive *archive
	report  Report
}

// Write collects the state of a hub into an archive. A kind that cannot be read is named in the report and in the archive, and the others
// are collected. It returns an error where the hub does not respond, and where the archive cannot be written.
func Write(ctx context.Context, hub *rest.Config, out io.Writer, options Options) (Report, error) {
	objects, err := dynamic.NewForConfig(hub)
	if err != nil {
		return Report{}, fmt.Errorf("making a client of the hub: %w", err)
	}
	server, err := discovery.NewDiscoveryClientForConfig(hub)
	if err != nil {
		return Report{}, fmt.Errorf("making a client of the hub: %w", err)
	}
	c := &collector{Options: options, objects: objects, server: server, archive: newArchive(out, options.Now, options.MaxBytes)}
	if err := c.versions(); err != nil {
		return Report{}, err
	}
	if err := c.preflight(ctx, hub); err != nil {
		return Report{}, err
	}
	for _, k := range kinds() {
		if err := c.collect(ctx, k); err != nil {
			return Report{}, err
		}
	}
	if err := c.logs(ctx); err != nil {
		return Report{}, err
	}
	if err := c.archive.write("summary.txt", []byte(c.report.String())); err != nil {
		return Report{}, err
	}
	return c.report, c.archive.close()
}

// versions writes the versions of the hub and of this program. The hub must respond.
func (c *collector) versions() error {
	found, err := c.server.ServerVersion()
	if err != nil {
		return fmt.Errorf("reading the version of the hub: %w", err)
	}
	text := fmt.Sprintf("hub: Kubernetes %s (%s)\nkubectl-berth: %s\n", found.GitVersion, found.Platform, version.String())
	return c.archive.write("versions.txt", []byte(text))
}

// preflight writes what `kubectl berth preflight` finds.
func (c *collector) preflight(ctx context.Context, config *rest.Config) error {
	hub, err := upgrade.NewClient(config)
	if err != nil {
		return err //nolint:wrapcheck // it is described there
	}
	part := Part{Name: "preflight"}
	report, err := upgrade.Check(ctx, hub, c.Now)
	if err != nil {
		part.Problem = err.Error()
		c.report.Parts = append(c.report.Parts, part)
		return ctx.Err()
	}
	content, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the preflight report: %w", err)
	}
	part.Objects = len(report.Steps) + len(report.Notes)
	return c.add(&part, "preflight.json", content)
}

// add writes a file and the part that it belongs to.
func (c *collector) add(part *Part, name string, content []byte) error {
	err := c.archive.add(name, content)
	if errors.Is(err, errFull) {
		part.Problem, part.Objects, err = c.fullText(), 0, nil
	}
	c.report.Parts = append(c.report.Parts, *part)
	return err
}

func (c *collector) fullText() string {
	return fmt.Sprintf("the archive has its limit of %d bytes; raise it, or collect one namespace", c.MaxBytes)
}

// collect writes the objects of a kind, page by page.
func (c *collector) collect(ctx context.Context, k kind) error {
	part := Part{Name: k.resource.GroupResource().String()}
	namespace := k.in
	if namespace == "" && !k.global {
		namespace = c.Namespace
	}
	if k.in != "" || k.field != "" {
		part.Name += " (" + k.in + k.field + ")"
	}
	options := metav1.ListOptions{Limit: k.page, LabelSelector: k.labels, FieldSelector: k.field}
	defer func() { c.report.Parts = append(c.report.Parts, part) }()
	for seen := 0; part.Problem == ""; {
		list, err := c.objects.Resource(k.resource).Namespace(namespace).List(ctx, options)
		if next := nextAfterExpiry(err); next != "" {
			options.Continue = next
			continue
		}
		if err != nil {
			part.Problem = err.Error()
			return ctx.Err()
		}
		for i := range list.Items {
			if err := c.object(k, &list.Items[i], &part); err != nil || part.Problem != "" {
				return err
			}
		}
		seen += len(list.Items)
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
		if k.shared && seen >= sharedFactor*c.MaxObjects {
			part.Problem = fmt.Sprintf("only the first %d objects were looked at", seen)
		}
	}
	return nil
}

// nextAfterExpiry returns the token that goes on after a list whose version is gone; empty for other errors. What changed meanwhile may be
// missing.
func nextAfterExpiry(err error) string {
	var status apierrors.APIStatus
	if apierrors.IsResourceExpired(err) && errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}

// object writes one object.
func (c *collector) object(k kind, object *unstructured.Unstructured, part *Part) error {
	if k.keep != nil && !k.keep(object) {
		return nil
	}
	if part.Objects >= c.MaxObjects {
		part.Problem = fmt.Sprintf("only the first %d objects were collected", c.MaxObjects)
		return nil
	}
	part.Redacted += redact(object)
	content, err := yaml.Marshal(object.Object)
	if err != nil {
		return fmt.Errorf("encoding %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	path := "objects/" + k.resource.GroupResource().String() + "/"
	if object.GetNamespace() != "" {
		path += object.GetNamespace() + "/"
	}
	err = c.archive.add(path+object.GetName()+".yaml", content)
	if errors.Is(err, errFull) {
		part.Problem = c.fullText()
		return nil
	}
	if err == nil {
		part.Objects++
	}
	return err
}
