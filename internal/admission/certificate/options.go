package certificate

import (
	"fmt"

	"github.com/spf13/pflag"
)

// AddFlags binds the paths to flags.
func (f *Files) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.CertFile, "tls-cert-file", f.CertFile,
		"certificate of webhooks and views, read again when it changes; empty: the manager creates one")
	flags.StringVar(&f.KeyFile, "tls-private-key-file", f.KeyFile, "private key of the certificate")
	flags.StringVar(&f.CAFile, "tls-ca-file", f.CAFile,
		"CA certificates that the API server must trust for the certificate; "+
			"empty with --tls-cert-file: another client registers webhooks and views")
}

// Validate returns every fault of the flags. It reads no file.
func (f *Files) Validate() []string {
	var out []string
	if (f.CertFile == "") != (f.KeyFile == "") {
		out = append(out, fmt.Sprintf("--tls-cert-file %q and --tls-private-key-file %q: give both or none", f.CertFile, f.KeyFile))
	}
	if f.CAFile != "" && f.CertFile == "" {
		out = append(out, fmt.Sprintf("--tls-ca-file %q: is of no use without --tls-cert-file", f.CAFile))
	}
	return out
}
