package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub"
	"github.com/berth-project/berth/hub/internal/backup"
	"github.com/berth-project/berth/hub/internal/datadir"
)

const backupHelp = `backup writes one file with everything that a hub needs: a consistent snapshot of all
objects, the keys and certificates, and the port. The hub may run meanwhile, or be
stopped. The file is read back before it gets its name, and no file is replaced. A member
is backed up in the same way, with the credential of its agent.

The file holds every key of the hub. Encrypt it with --key-file: a file with public keys
of age, or with a private key from "berth-hub backup key". While the command runs, the
data folder has a copy of the database.`

const restoreHelp = `restore creates the data folder of a hub or a member from a backup: in another place, on
another machine, under another address. A folder with files is refused, and after an error nothing
is left. Start the hub or the member on the folder afterwards. Never run it beside the one
that it replaces: agents would follow both hubs, and both members would report as one.

Clients that have seen later writes than the backup has read everything again.`

const keyFileFlag = "key-file"

func backupCommand() *cobra.Command {
	var of hub.Backup
	command := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a backup of a hub, running or stopped",
		Long:  backupHelp,
		Example: `  # Once: the private key, which must not be on the machine of the hub alone
  berth-hub backup key hub.key

  berth-hub backup hub.backup --key-file hub.key
  berth-hub backup verify hub.backup --key-file hub.key`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			of.Path = args[0]
			manifest, err := of.Write(command.Context(), clock.RealClock{})
			if err != nil {
				return err
			}
			return printBackup(command.OutOrStdout(), of.Path, manifest, of.KeyFile != "")
		},
	}
	command.Flags().StringVar(&of.DataDir, "data-dir", defaultDataDir(), "folder of the hub; also set by "+dataDirVariable)
	command.Flags().StringVar(&of.KeyFile, keyFileFlag, "", "`file` with public keys or a private key of age, which encrypts the "+
		"backup; empty: not encrypted")
	command.AddCommand(verifyCommand(), keyCommand())
	return command
}

// printBackup prints what a backup has.
func printBackup(out io.Writer, path string, manifest backup.Manifest, encrypted bool) error {
	var bytes int64
	for _, file := range manifest.Files {
		bytes += file.Size
	}
	how := "encrypted"
	if !encrypted {
		how = "not encrypted: it holds every key of the hub, keep it as safe as the data folder"
	}
	_, err := fmt.Fprintf(out, "%s is complete: %d files, %d bytes, revision %d of %s\nIt is %s.\n",
		path, len(manifest.Files), bytes, manifest.Revision, manifest.Created.Format(time.RFC3339), how)
	if err != nil {
		return fmt.Errorf("printing the backup: %w", err)
	}
	return nil
}

func verifyCommand() *cobra.Command {
	var keyFile string
	command := &cobra.Command{
		Use:   "verify FILE",
		Short: "Read a whole backup and check every byte",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			manifest, err := hub.VerifyBackup(args[0], keyFile)
			if err != nil {
				return err
			}
			return printBackup(command.OutOrStdout(), args[0], manifest, keyFile != "")
		},
	}
	command.Flags().StringVar(&keyFile, keyFileFlag, "", "`file` with the private key of an encrypted backup")
	return command
}

func keyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "key FILE",
		Short: "Generate the private key for encrypted backups",
		Long: `key writes a new private key of age to a file that only its owner can read, and prints the
public key. The public key alone encrypts: keep the private key elsewhere, and restore with it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			public, err := backup.GenerateKey(args[0])
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(command.OutOrStdout(), public); err != nil {
				return fmt.Errorf("printing the public key: %w", err)
			}
			return nil
		},
	}
}

func restoreCommand() *cobra.Command {
	var of hub.Restore
	command := &cobra.Command{
		Use:   "restore FILE",
		Short: "Create the data folder of a hub from a backup",
		Long:  restoreHelp,
		Example: `  berth-hub restore hub.backup --key-file hub.key --data-dir /var/lib/berth-hub
  berth-hub --data-dir /var/lib/berth-hub`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			of.Path = args[0]
			manifest, err := of.Run()
			if err != nil {
				return err
			}
			start, err := startOf(of.DataDir)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "%s is restored, from revision %d of %s\n%s\n",
				of.DataDir, manifest.Revision, manifest.Created.Format(time.RFC3339), start)
			if err != nil {
				return fmt.Errorf("printing the restore: %w", err)
			}
			return nil
		},
	}
	command.Flags().StringVar(&of.DataDir, "data-dir", defaultDataDir(), "folder to create; also set by "+dataDirVariable)
	command.Flags().StringVar(&of.KeyFile, keyFileFlag, "", "`file` with the private key of an encrypted backup")
	return command
}

// startOf returns how to start what a restored folder has.
func startOf(dataDir string) (string, error) {
	if !datadir.IsMember(dataDir) {
		return "Start the hub: berth-hub --data-dir " + dataDir, nil
	}
	name, err := datadir.MemberName(dataDir)
	return "Start the member: " + memberStart(name, dataDir), err
}
