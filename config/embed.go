// Package config contains the manifests of an installation, as files in the binary.
//
// It owns the files. Callers apply them. `make generate` writes crd and rbac from the Go code. manager contains the manager's
// identity and the policies that the API server checks itself. registration contains the roles of
// registration, on hubs where Berth does it. delivery contains those of the controller that delivers workloads, and addon those of the
// controller that installs add-ons. protection contains the policies that protect clusters from deletion. probe contains those of the
// controller that reads clusters without an agent, score those of the controller that writes scores, and profile those of the controller
// that publishes the fleet as ClusterProfiles, and inventory those of the controller that imports them. work contains what agents need on
// their members to deliver works. conversion contains the conversion of kinds in two versions. roles and webhookroles contain roles for
// administrators to grant.
package config

import (
	"bytes"
	"embed"
	"io/fs"
)

//go:embed addon/*.yaml conversion/*.yaml crd/*.yaml delivery/*.yaml discovery/*.yaml rbac/*.yaml manager/*.yaml probe/*.yaml protection/*.yaml score/*.yaml profile/*.yaml inventory/*.yaml kueue/*.yaml registration/*.yaml roles/*.yaml webhook/*.yaml webhookroles/*.yaml
var files embed.FS

// memberFiles is apart from files, because CRDs returns everything below its folder.
//
//go:embed crd/member/*.yaml member/*.yaml work/*.yaml
var memberFiles embed.FS

// CRDs returns the definitions of Berth's API types: YAML files, one definition each, at the root of the file system.
// The files are read-only.
func CRDs() fs.FS {
	return directory("crd")
}

// MemberCRDs returns the definitions of the kinds that only members serve, ClusterClaim, ClusterProperty and AppliedManifestWork:
// YAML files, one definition each, at the root of the file system. A hub does not install them. The files are read-only.
func MemberCRDs() fs.FS {
	return subFolder(memberFiles, "crd/member")
}

// MemberGuard returns the policies that protect the records of works on a member, in guard.yaml at the root of the file system. They need
// Kubernetes 1.30. A hub does not install them. The files are read-only.
func MemberGuard() fs.FS {
	return subFolder(memberFiles, "member")
}

// Work returns the permissions of an agent on its member: records.yaml for the records of works, and the profiles bound.yaml and
// admin.yaml for their objects. A hub does not install them. The files are read-only.
func Work() fs.FS {
	return subFolder(memberFiles, "work")
}

// Access returns the manager's identity, roles and guards, and the roles to grant on every hub: YAML files at the root of
// each file system, to be applied in order. The files are read-only.
func Access() []fs.FS {
	return []fs.FS{directory("manager"), directory("rbac"), directory("roles")}
}

// Registration returns the roles of the controllers that register clusters, and the roles that they bind for agents. They are for
// hubs on which these controllers run: YAML files at the root of the file system, read-only.
func Registration() fs.FS {
	return directory("registration")
}

// Action is what a policy does about a request that it does not permit.
type Action string

// The actions of the policies of Protection. Audit only marks the request in the audit log of the API server.
const (
	Deny  Action = "Deny"
	Warn  Action = "Warn"
	Audit Action = "Audit"
)

// Protection returns the policies that protect accepted clusters and their namespaces from deletion, each with its action: YAML files at
// the root of the file system, read-only.
func Protection(clusters, namespaces Action) fs.FS {
	return protection{files: directory("protection"), actions: map[string]Action{"clusters.yaml": clusters, "namespaces.yaml": namespaces}}
}

// protection has the policies with other actions than their files have.
type protection struct {
	files   fs.FS
	actions map[string]Action
}

// Open implements fs.FS.
func (p protection) Open(name string) (fs.File, error) {
	file, err := p.files.Open(name)
	action, acts := p.actions[name]
	if err != nil || !acts {
		return file, err //nolint:wrapcheck // the file system names the file
	}
	data, err := fs.ReadFile(p.files, name)
	data = bytes.ReplaceAll(data, []byte("validationActions: [Deny]"), []byte("validationActions: ["+action+"]"))
	return changedFile{file, bytes.NewReader(data)}, err //nolint:wrapcheck // the file system names the file
}

// changedFile is a file with another content. Its Stat is that of the file.
type changedFile struct {
	fs.File

	content *bytes.Reader
}

// Read implements fs.File.
func (f changedFile) Read(into []byte) (int, error) { return f.content.Read(into) } //nolint:wrapcheck // io.EOF stays as it is

// Probe returns the namespace of the Secrets of probes and the permissions of the controller that reads them. They are for hubs on
// which this controller runs: YAML files at the root of the file system, read-only.
func Probe() fs.FS {
	return directory("probe")
}

// Score returns the permissions of the controller that writes scores from queries. They are for hubs on which it runs: YAML files at
// the root of the file system, read-only.
func Score() fs.FS {
	return directory("score")
}

// Profile returns the permissions of the controller that publishes the fleet as ClusterProfiles, and a role for their readers. They are for
// hubs on which it runs: YAML files at the root of the file system, read-only.
func Profile() fs.FS {
	return directory("profile")
}

// Inventory returns the permissions of the controller that makes clusters of the ClusterProfiles of another cluster manager. They are for
// hubs on which it runs: YAML files at the root of the file system, read-only.
func Inventory() fs.FS {
	return directory("inventory")
}

// Kueue returns the permissions of the controller that lets the queues of Kueue follow placements. They are for hubs on which it runs:
// YAML files at the root of the file system, read-only.
func Kueue() fs.FS {
	return directory("kueue")
}

// Delivery returns the permissions of the controller that delivers workloads. They are for hubs on which it runs: YAML files at the
// root of the file system, read-only.
func Delivery() fs.FS {
	return directory("delivery")
}

// AddOn returns the permissions of the controller that installs add-ons. They are for hubs on which it runs: YAML files at the root of the
// file system, read-only.
func AddOn() fs.FS {
	return directory("addon")
}

// WebhookRoles returns the roles to grant that require the manager's webhooks. A hub without webhooks must not have these
// roles. YAML files at the root of the file system, read-only.
func WebhookRoles() fs.FS {
	return directory("webhookroles")
}

// Webhooks returns the configurations of the manager's webhooks, and the Service that they name: YAML files at the root
// of the file system. The manager stores the configurations itself. The files are read-only.
func Webhooks() fs.FS {
	return directory("webhook")
}

// Conversion returns the conversion of the kinds in two versions, as parts of definitions: YAML files at the root of the file
// system. The manager stores them itself. The files are read-only.
func Conversion() fs.FS {
	return directory("conversion")
}

// Discovery returns the order of the versions of the kinds in two versions, for hubs whose API server maintains its own: YAML files
// at the root of the file system. The files are read-only.
func Discovery() fs.FS {
	return directory("discovery")
}

func directory(name string) fs.FS { return subFolder(files, name) }

func subFolder(of fs.FS, name string) fs.FS {
	sub, err := fs.Sub(of, name)
	if err != nil {
		panic("config: " + name + " is not embedded: " + err.Error())
	}
	return sub
}
