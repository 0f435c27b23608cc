package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed assets templates
var files embed.FS

// asset is a file for browsers, as it is sent.
type asset struct {
	contentType, etag string
	plain, zipped     []byte
}

// contentType returns the type of a file by its extension; empty for other files.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return ""
	}
}

// loadAssets reads the files for browsers, by name.
func loadAssets() (map[string]asset, error) {
	names, err := fs.Glob(files, "assets/*")
	if err != nil {
		return nil, fmt.Errorf("listing the assets: %w", err)
	}
	out := map[string]asset{}
	for _, name := range names {
		plain, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading an asset: %w", err)
		}
		zipped, err := compressAt(plain, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(plain)
		out[path.Base(name)] = asset{contentType(name), `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`, plain, zipped}
	}
	return out, nil
}

// compress compresses at the best speed: the text crosses a short way, and is often used once.
func compress(in []byte) ([]byte, error) { return compressAt(in, gzip.BestSpeed) }

func compressAt(in []byte, level int) ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, level)
	if err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if _, err := zip.Write(in); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return out.Bytes(), nil
}

// serveAsset sends a file. A browser that has it already gets no content.
func (s *Server) serveAsset(w http.ResponseWriter, r *http.Request) {
	found, ok := s.assets[r.PathValue("name")]
	if !ok || found.contentType == "" {
		refuse(w, http.StatusNotFound, "There is no such file.")
		return
	}
	header := w.Header()
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Etag", found.etag)
	header.Set("Content-Type", found.contentType)
	header.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == found.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := found.plain
	if acceptsGzip(r) {
		header.Set("Content-Encoding", "gzip")
		body = found.zipped
	}
	_, _ = w.Write(body)
}

func acceptsGzip(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}
