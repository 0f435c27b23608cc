// Command linkcache keeps the test binaries that the linker has made. The go command keeps what it compiles, and links a test binary anew
// for every run of its tests: seconds for each package that has a client of Kubernetes.
//
// It stands before each tool of the build, by `go test -toolexec`. A link is found by its arguments without the paths of its files: the go
// command puts a digest of all that is linked into -buildid. Every other tool runs as it is.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
)

// folderVariable names the folder of the cache.
const folderVariable = "BERTH_LINKS"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		if exit, is := errors.AsType[*exec.ExitError](err); is {
			os.Exit(exit.ExitCode()) // the tool has printed why
		}
		fmt.Fprintln(os.Stderr, "linkcache:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, command []string) error {
	if len(command) == 0 {
		return errors.New("usage: go test -toolexec linkcache")
	}
	key, to := link(command)
	folder := os.Getenv(folderVariable)
	if key == "" || folder == "" {
		return syscall.Exec(command[0], command, os.Environ()) //nolint:wrapcheck // it names the program
	}
	cached := filepath.Join(folder, key)
	if err := unpack(cached, to); err == nil {
		now := time.Now()
		_ = os.Chtimes(cached, now, now) // the oldest are removed first
		return nil
	}
	linker := exec.CommandContext(ctx, command[0], command[1:]...)
	linker.Stdin, linker.Stdout, linker.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := linker.Run(); err != nil {
		return err //nolint:wrapcheck // the linker has printed it
	}
	_ = pack(to, cached) // without it the next run links again
	return nil
}

// link returns the key of a call of the linker and the path of its output; "" for another tool, and for a link without a digest of what it
// links.
func link(command []string) (key, to string) {
	if name := filepath.Base(command[0]); strings.TrimSuffix(name, ".exe") != "link" {
		return "", ""
	}
	sum := sha256.New()
	known := false
	for at := 1; at < len(command); at++ {
		switch arg := command[at]; {
		case arg == "-o" && at+1 < len(command):
			at++
			to = command[at]
		case arg == "-importcfg" && at+1 < len(command):
			at++
		case at == len(command)-1: // the package main, which the digest has
		default:
			known = known || strings.HasPrefix(arg, "-buildid=") && len(arg) > len("-buildid=")
			fmt.Fprintf(sum, "%s\n", arg)
		}
	}
	if !known || to == "" {
		return "", ""
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), to
}

// pack stores a program as a third of its size.
func pack(from, to string) error {
	return rewrite(from, to, func(in io.Reader, out io.Writer) error {
		compressed, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err //nolint:wrapcheck // it names the option
		}
		_, err = io.Copy(compressed, in)
		return errors.Join(err, compressed.Close())
	})
}

// unpack writes a program that pack has stored.
func unpack(from, to string) error {
	return rewrite(from, to, func(in io.Reader, out io.Writer) error {
		compressed, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return err //nolint:wrapcheck // it names the option
		}
		defer compressed.Close()
		_, err = io.Copy(out, compressed)
		return err //nolint:wrapcheck // it names the file
	})
}

// rewrite writes a file from another in one step: another run reads all of it, or nothing.
func rewrite(from, to string, write func(in io.Reader, out io.Writer) error) error {
	in, err := os.Open(from)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	defer in.Close() //nolint:errcheck // it was only read
	out, err := os.CreateTemp(filepath.Dir(to), ".partial-*")
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	defer os.Remove(out.Name()) //nolint:errcheck // it is gone once it has its name
	if err := errors.Join(write(in, out), out.Chmod(0o755), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), to) //nolint:wrapcheck // it names the files
}
