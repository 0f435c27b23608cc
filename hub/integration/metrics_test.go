package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestMetricsNeedPermission scrapes the manager of a hub, as Prometheus would.
func TestMetricsNeedPermission(t *testing.T) {
	address := hubtest.FreeAddress(t)
	hub := hubtest.New(t, hubtest.Options{Manager: true, Args: []string{"--metrics-bind-address=" + address}})
	client := hub.Client(t)
	token := func(name string) string {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
		kit.Must(client.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{})).In(t)
		issued, err := client.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), name, &authenticationv1.TokenRequest{},
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return issued.Status.Token
	}
	allowed, other := token("prometheus"), token("other")
	_, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(),
		kit.ClusterRoleBinding("prometheus", "system:monitoring", kit.ServiceAccount("default", "prometheus")), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scraper := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, step := range []struct {
		what, url, token string
		code             int
		holds            string
	}{
		{"a scraper that may get the manager's metrics", "https://" + address, allowed, http.StatusOK, "berth_placements"},
		{"a scraper without permission", "https://" + address, other, http.StatusForbidden, ""},
		{"a caller without a token", "https://" + address, "", http.StatusUnauthorized, ""},
		{"a caller with a wrong token", "https://" + address, "wrong", http.StatusInternalServerError, "Authentication failed"},
		{"a scraper that may get the API server's metrics", hub.Config().Host, allowed, http.StatusOK, "apiserver_request_total"},
		{"a caller of the API server without a token", hub.Config().Host, "", http.StatusUnauthorized, ""},
	} {
		kit.Await(t, "the metrics have the wanted status code", func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, step.url+"/metrics", http.NoBody)
			if err != nil {
				return err
			}
			if step.token != "" {
				request.Header.Set("Authorization", "Bearer "+step.token)
			}
			response, err := scraper.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				return err
			}
			if response.StatusCode != step.code || !strings.Contains(string(body), step.holds) {
				return fmt.Errorf("%s: code %d, want %d: %.200s", step.what, response.StatusCode, step.code, body)
			}
			return nil
		})
	}
}
