package hub

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/berth-project/berth/internal/kube/process"
)

func requestOf(verb, group, resource, subresource string) Request {
	return Request{Verb: verb, Group: group, Resource: resource, Subresource: subresource}
}

func TestRequests(t *testing.T) {
	const text = `# HELP apiserver_request_total [STABLE] Counter
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",component="apiserver",dry_run="",group="g",resource="things",scope="resource",subresource="",verb="POST",version="v1"} 3
apiserver_request_total{code="409",component="apiserver",dry_run="",group="g",resource="things",scope="resource",subresource="",verb="POST",version="v1"} 1
apiserver_request_total{code="200",component="apiserver",dry_run="",group="g",resource="things",scope="resource",subresource="status",verb="PATCH",version="v1"} 2
apiserver_request_total{code="200",component="apiserver",dry_run="",group="g",resource="things",scope="cluster",subresource="",verb="LIST",version="v1"} 5
apiserver_request_total{code="201",component="apiserver",dry_run="",group="authorization.k8s.io",resource="subjectaccessreviews",scope="resource",subresource="",verb="POST",version="v1"} 7
apiserver_request_total_of_others{verb="POST"} 9
`
	read, err := process.ParseMetrics([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := Requests(read.Requests())
	review := requestOf("POST", "authorization.k8s.io", "subjectaccessreviews", "")
	want := Requests{
		requestOf("POST", "g", "things", ""): 4, requestOf("PATCH", "g", "things", "status"): 2,
		requestOf("LIST", "g", "things", ""): 5, review: 7,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	later := Requests{requestOf("POST", "g", "things", ""): 6, requestOf("PATCH", "g", "things", "status"): 2, review: 8}
	if kinds, sum := later.Since(got).Writes(); sum != 2 || len(kinds) != 1 || kinds[0].String() != "POST things" {
		t.Errorf("%v writes since, of %v, want 2 of POST things", sum, kinds)
	}
	if kinds, sum := got.Reads(); sum != 5 || len(kinds) != 1 || kinds[0].String() != "LIST things" {
		t.Errorf("%v reads, of %v, want 5 of LIST things", sum, kinds)
	}
	if kinds, sum := later.Writes(); sum != 8 || len(kinds) != 2 || kinds[1].String() != "PATCH things/status" {
		t.Errorf("%v writes, of %v, want 8 of two kinds, the rarer last", sum, kinds)
	}
}

func TestUsageIsReadAsLinuxWritesIt(t *testing.T) {
	const stat = "4711 (a (b) c) S 1 4711 4711 0 -1 4194304 1 2 3 4 150 25 0 0 20 0 9 0 100 1 2"
	if got, err := cpu(stat); err != nil || got != 1750*time.Millisecond {
		t.Errorf("CPU time %s, %v, want 1.75s", got, err)
	}
	const status = "VmPeak:\t 9 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\n"
	if got, err := memory(status, "VmHWM:"); err != nil || got != 2<<20 {
		t.Errorf("peak %d, %v, want 2 MiB", got, err)
	}
	if got, err := memory(status, "VmRSS:"); err != nil || got != 1<<20 {
		t.Errorf("resident %d, %v, want 1 MiB", got, err)
	}
	for _, text := range []string{"", "4711 (x) S 1", "VmHWM:", "VmHWM: x kB", "VmHWM: 1 MB"} {
		if got, err := cpu(text); err == nil {
			t.Errorf("CPU time of %q is %s", text, got)
		}
		if got, err := memory(text, "VmHWM:"); err == nil {
			t.Errorf("peak of %q is %d", text, got)
		}
	}
}

func TestUsageOfThisProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc here")
	}
	if got, err := usageOf(os.Getpid()); err != nil || got.Peak < 1<<20 {
		t.Errorf("used %+v, %v, want some memory", got, err)
	}
}

func TestAttributesAreOfTheFirstRequestThatARuleAllows(t *testing.T) {
	got := attributes(rbacv1.PolicyRule{
		Verbs: []string{"create", "get"}, APIGroups: []string{"g"}, Resources: []string{"things/part", "x"},
		ResourceNames: []string{"a"},
	})
	if diff := cmp.Diff("create g things part a", strings.Join([]string{got.Verb, got.Group, got.Resource, got.Subresource, got.Name},
		" ")); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}
