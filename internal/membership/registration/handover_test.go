package registration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadHandOverTakesOnlyWhatWasAnnounced(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	good := HandOver{Server: "https://hub.example:6443", CA: ca, Token: "t"}
	for sentence, test := range map[string]struct {
		stored HandOver
		hash   string
		want   error
	}{
		"what was announced":   {good, good.Hash(), nil},
		"another URL":          {HandOver{"https://attacker.example", ca, "t"}, good.Hash(), errHandOverHash},
		"another token":        {HandOver{good.Server, ca, "u"}, good.Hash(), errHandOverHash},
		"nothing is announced": {good, "", errHandOverHash},
		"a URL without TLS":    {HandOver{"http://hub.example", ca, "t"}, HandOver{"http://hub.example", ca, "t"}.Hash(), errHandOverServer},
		"a URL with a password": {
			HandOver{"https://a:b@hub.example", ca, "t"},
			HandOver{"https://a:b@hub.example", ca, "t"}.Hash(),
			errHandOverServer,
		},
		"no CA":                  {HandOver{good.Server, nil, "t"}, HandOver{good.Server, nil, "t"}.Hash(), errNoCertificate},
		"no token":               {HandOver{good.Server, ca, ""}, HandOver{good.Server, ca, ""}.Hash(), errHandOverToken},
		"fields that are merged": {HandOver{good.Server + string(ca), nil, "t"}, good.Hash(), errHandOverHash},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := ReadHandOver(test.stored.Data(), test.hash)
			if !errors.Is(err, test.want) || test.want == nil && err != nil {
				t.Fatalf("ReadHandOver = %v, want %v", err, test.want)
			}
			if err == nil {
				if diff := cmp.Diff(test.stored, got); diff != "" {
					t.Errorf("ReadHandOver (-want +got):\n%s", diff)
				}
			}
		})
	}
}
