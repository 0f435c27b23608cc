package score

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/engine/escape"
)

const (
	// queryTimeout bounds one query, as does half of its interval. maxResponseBytes bounds its response: 10,000 clusters have some 2 MiB.
	queryTimeout     = 30 * time.Second
	maxResponseBytes = 64 << 20
	// maxMessage bounds what a source may add to a message.
	maxMessage = 256
)

var (
	errResponseTooLarge = errors.New("the response has more than 64 MiB")
	errNoVector         = errors.New("the result is no instant vector, such as that of avg by (cluster) (...)")
	errRedirect         = errors.New("redirects are not followed, because they would take the token along")
)

// source queries one server.
type source struct{ api promv1.API }

func newSource(s Source) (source, error) {
	config := &rest.Config{Host: s.URL, BearerTokenFile: s.BearerTokenFile, UserAgent: "berth-score", Timeout: queryTimeout}
	config.CAFile = s.CAFile
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return source{}, fmt.Errorf("reaching the source %s: %w", s.Name, err)
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
	client.Transport = bounded{client.Transport}
	out, err := api.NewClient(api.Config{Address: s.URL, Client: client})
	if err != nil {
		return source{}, fmt.Errorf("reaching the source %s: %w", s.Name, err)
	}
	return source{promv1.NewAPI(out)}, nil
}

// result is the values of one query by cluster.
type result struct {
	values map[string]float64
	// several is a cluster with more than one value, which has none then; empty without.
	several string
	// unnamed is the number of values without the label of the cluster.
	unnamed int
}

// query sends an instant query.
func (s source) query(ctx context.Context, q *Query, now time.Time) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, min(queryTimeout, q.Interval.Duration/2))
	defer cancel()
	found, _, _, err := s.api.Query(ctx, q.Query, now)
	if err != nil {
		return result{}, fmt.Errorf("querying %s: %w", q.Name, err)
	}
	vector, ok := found.(model.Vector)
	if !ok {
		return result{}, fmt.Errorf("querying %s: %w", q.Name, errNoVector)
	}
	return read(vector, model.LabelName(q.ClusterLabel)), nil
}

func read(vector model.Vector, label model.LabelName) result {
	out := result{values: make(map[string]float64, len(vector))}
	repeated := map[string]bool{}
	for _, sample := range vector {
		cluster := string(sample.Metric[label])
		_, before := out.values[cluster]
		switch {
		case cluster == "":
			out.unnamed++
		case before:
			repeated[cluster] = true
		default:
			out.values[cluster] = float64(sample.Value)
		}
	}
	for cluster := range repeated {
		delete(out.values, cluster)
		if out.several == "" || cluster < out.several {
			out.several = cluster
		}
	}
	return out
}

// message returns a failure as a condition may have it.
func message(err error) string {
	text := escape.Text(err.Error())
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + " …"
	}
	return text
}

// bounded fails responses that are too large.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // a transport returns the error of the next
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: maxResponseBytes}
	return response, nil
}

type boundedBody struct {
	io.ReadCloser

	left int
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errResponseTooLarge
	}
	return n, err //nolint:wrapcheck // a reader returns io.EOF
}
