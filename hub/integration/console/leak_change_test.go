//go:build slow

package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// openPage is an open page of a tenant: what its stream has sent.
type openPage struct {
	site *site
	path string
	*kit.Buffer
}

// openPages opens the streams of all pages. They end with the test.
func openPages(t *testing.T, s *site) []*openPage {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var out []*openPage
	for _, path := range append(quietPages(), "/placements/team/web", "/placements/team/all", "/clusters/open-1", "/rollouts/team/tools",
		"/hub") {
		page := &openPage{s, path, &kit.Buffer{}}
		out = append(out, page)
		go func() {
			err := s.openStream(ctx, path, "0", func(line string) bool {
				_, err := page.Write([]byte(line + "\n"))
				return err == nil
			})
			if err != nil && !errors.Is(err, context.Canceled) {
				fmt.Fprintf(page, "the stream ended: %v\n", err)
			}
		}()
	}
	return out
}

// quietPages are the pages on which a tenant sees nothing of a change that is not in its views. The page of a placement counts the clusters
// that it may not see, as the explanation does.
func quietPages() []string {
	return []string{"/", "/?view=table", "/placements", "/search?q=e", "/rollouts"}
}

// awaitBeats waits until each stream has sent two signs of life. A change that came before, and concerns the page, comes before the second.
func awaitBeats(t *testing.T, pages []*openPage) {
	t.Helper()
	const beat = "event: beat"
	before := map[*openPage]int{}
	for _, page := range pages {
		before[page] = strings.Count(page.String(), beat)
	}
	kit.AwaitWithin(t, 2*limit, "each stream has sent two signs of life", func(context.Context) error {
		for _, page := range pages {
			if strings.Count(page.String(), beat) < before[page]+2 {
				return fmt.Errorf("the stream of %s by the %s is silent", page.path, page.site.name)
			}
		}
		return nil
	})
}

// anEvent matches an event of a stream that is no sign of life.
var anEvent = regexp.MustCompile(`(?m)^event: (section|cells|problem)$`)

// checkChanges changes what the tenant may not see while all of its pages are open, and then what it may see. The streams carry the second
// change alone.
func checkChanges(t *testing.T, f *plantedFleet, sites []*site, admin *site) {
	t.Helper()
	var pages []*openPage
	for _, s := range sites {
		pages = append(pages, openPages(t, s)...)
	}
	kit.Await(t, "every stream has sent a version", func(context.Context) error {
		for _, page := range pages {
			if !strings.Contains(page.String(), "event: version") {
				return fmt.Errorf("the stream of %s by the %s has sent no version:\n%s", page.path, page.site.name, page)
			}
		}
		return nil
	})
	before := map[*openPage]int{}
	for _, page := range pages {
		before[page] = len(page.String())
	}
	f.taint("unseen-cluster-1", "unseen-late")
	f.cluster("unseen-cluster-3", "unseen-set", "north")
	f.MustCreateMissing(kit.Placement("unseen-namespace", "unseen-late"))
	f.AwaitCount("unseen-namespace", "unseen-late", 6)
	kit.Await(t, "the administrator sees the new cluster", func(ctx context.Context) error { // the manager has read it all
		got, err := admin.try(ctx, http.MethodGet, "/placements/unseen-namespace/unseen-late", "")
		if err != nil || !strings.Contains(got.body, "unseen-cluster-3") {
			return fmt.Errorf("%w: %s", err, got)
		}
		return nil
	})
	awaitBeats(t, pages)
	for _, page := range pages {
		// The command reads what the tenant may see again and again, and each reading is a version: it is sent whatever has changed.
		sent := page.String()[before[page]:]
		reports := anEvent.MatchString(sent) || page.site.name == "manager" && strings.Contains(sent, "event: version")
		if reports && slices.Contains(quietPages(), page.path) {
			t.Errorf("the stream of %s by the %s reports a change that the tenant may not see:\n%s", page.path, page.site.name, sent)
		}
	}
	f.taint("open-3", "known-taint")
	kit.Await(t, "the table shows the taint that the tenant may see", func(context.Context) error {
		for _, page := range pages {
			if page.path == "/?view=table" && !strings.Contains(page.String()[before[page]:], "event: section") {
				return fmt.Errorf("the stream of %s by the %s lacks the taint that the tenant may see:\n%s", page.path, page.site.name, page)
			}
		}
		return nil
	})
	for _, page := range pages {
		if at := strings.Index(strings.ToLower(page.String()), "unseen"); at >= 0 {
			t.Errorf("the stream of %s by the %s: the tenant sees …%.200s", page.path, page.site.name, page.String()[max(0, at-100):])
		}
	}
}
