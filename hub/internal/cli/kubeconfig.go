package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub"
)

const kubeconfigHelp = `kubeconfig writes a kubeconfig for a user of the hub, readable by its owner only. It holds
a certificate that the hub signs. The user has the permissions that roles grant to the
name and to the groups, and no others.

A certificate cannot be revoked: keep its lifetime short, and remove the roles to end
access earlier. The hub must have run once; it need not run now.`

var errNoOutput = errors.New("the user's name is no name of a file; give --output")

// kubeconfigFlags are the flags of the command.
type kubeconfigFlags struct {
	dataDir, user, output string
	groups                []string
	life                  time.Duration
}

func kubeconfigCommand() *cobra.Command {
	var flags kubeconfigFlags
	command := &cobra.Command{
		Use:   "kubeconfig --user NAME",
		Short: "Write a kubeconfig for a user of the hub",
		Long:  kubeconfigHelp,
		Example: `  # For jane, who is in a team, for a day: jane.kubeconfig
  berth-hub kubeconfig --user jane --group team-a

  # For a manager of its own, with the permissions of config/rbac
  berth-hub kubeconfig --user system:serviceaccount:berth-system:berth --for 720h --output berth.kubeconfig`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	set := command.Flags()
	set.StringVar(&flags.dataDir, "data-dir", defaultDataDir(), "folder of the hub; also set by "+dataDirVariable)
	set.StringVar(&flags.user, "user", "", "name of the user")
	set.StringSliceVar(&flags.groups, "group", nil, "group that the user is in; may be given more than once")
	set.DurationVar(&flags.life, "for", 24*time.Hour, "how long the certificate lives, a year at most")
	set.StringVarP(&flags.output, "output", "o", "", "file to write, replaced if it is there; empty: NAME.kubeconfig in the current folder")
	return command
}

func (f *kubeconfigFlags) run(command *cobra.Command) error {
	path := f.output
	if path == "" {
		if strings.ContainsRune(f.user, filepath.Separator) {
			return errNoOutput
		}
		path = f.user + ".kubeconfig"
	}
	kubeconfig := hub.Kubeconfig{DataDir: f.dataDir, Path: path, Identity: hub.Identity{User: f.user, Groups: f.groups}, Lifetime: f.life}
	end, err := kubeconfig.Write(clock.RealClock{})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(command.OutOrStdout(), "%s is written for user %q, until %s\n", path, f.user,
		end.UTC().Format(time.RFC3339)); err != nil {
		return fmt.Errorf("printing where the kubeconfig is: %w", err)
	}
	return nil
}
