package cli

import (
	"os"
	"path/filepath"
)

// dataDirVariable overrides the default data folder. It is for commands that
// forward their flags and so have no flag for the folder.
const dataDirVariable = "BERTH_HUB_DATA_DIR"

// defaultDataDir follows the XDG convention for data that a user would miss.
func defaultDataDir() string {
	if dir := os.Getenv(dataDirVariable); dir != "" {
		return dir
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "berth-hub")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "berth-hub")
	}
	return "berth-hub-data"
}
