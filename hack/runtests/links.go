package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

const (
	// linksVariable names the folder of linked test binaries for hack/linkcache.
	linksVariable = "BERTH_LINKS"
	// linkCache is the program of hack/linkcache.
	linkCache = programsFolder + "/linkcache"
	// maxLinkBytes is how much the linked test binaries of all checkouts take. One run of all tests links some 2 GiB.
	maxLinkBytes = 4 << 30
)

// prepareLinks builds hack/linkcache, makes room in the folder of linked test binaries, and returns the variable that names it.
func prepareLinks(ctx context.Context, root string) (string, error) {
	command := exec.CommandContext(ctx, "go", "build", "-o", linkCache, "./hack/linkcache")
	command.Dir = root
	if printed, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building hack/linkcache: %w: %s", err, lastBytes(printed))
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the folder of linked tests: %w", err)
	}
	folder := filepath.Join(cache, "berth", "links")
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return "", fmt.Errorf("creating the folder of linked tests: %w", err)
	}
	return linksVariable + "=" + folder, keepNewest(folder, maxLinkBytes)
}

// keepNewest removes the files of a folder that were used least lately, until the rest has at most a number of bytes.
func keepNewest(folder string, most int64) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("listing linked tests: %w", err)
	}
	var files []fs.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil { // another run may just have removed it
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	var sum int64
	for _, file := range files {
		if sum += file.Size(); sum <= most {
			continue
		}
		if err := os.Remove(filepath.Join(folder, file.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing a linked test: %w", err)
		}
	}
	return nil
}
