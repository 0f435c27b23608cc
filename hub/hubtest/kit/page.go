package kit

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Page returns the status code and the text of a page, such as /readyz of an agent.
func Page(ctx context.Context, url string) (code int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", fmt.Errorf("reading %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }() // it is read
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}
