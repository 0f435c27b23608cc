# Everything a developer runs. `make help` lists the targets; CI runs `.ci/run`. Needs Go, gcc, make and git. `make generate`, `make verify` and
# `make slow` need node too, and `make slow` apt, dpkg and root.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# The shell divides words at what would be in every path.
ifneq (,$(word 2,$(CURDIR))$(findstring ',$(CURDIR))$(findstring ",$(CURDIR)))
$(error the folder of this checkout has a space or a quote in its path: move it to another)
endif

# What every target needs. A machine without it gets one sentence, and no half of a run.
LACKING := $(strip $(foreach tool,go git,$(if $(shell command -v $(tool)),,$(tool))))
ifneq (,$(LACKING))
$(error this machine lacks $(LACKING): install it, and put it on the PATH (the release of Go is in go.mod))
endif

# No program of Berth needs a C library: every binary is static, and runs in an image without any other file.
export CGO_ENABLED := 0

# No program or test depends on the folder of its checkout, so that all checkouts of this machine share what is compiled.
export GOFLAGS := -trimpath $(GOFLAGS)

# Every module of this repository, by folder.
MODULES := $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path './bin/*' | sort))
# The modules with code. hack/tools, hack/helm, hack/argocd and hack/kubernetes only pin tools.
WITH_CODE := $(filter-out ./hack/tools ./hack/helm ./hack/argocd ./hack/kubernetes/%,$(MODULES))

TOOLS := hack/tools/go.mod hack/tools/go.sum
GOLANGCI_LINT := bin/golangci-lint
CONTROLLER_GEN := bin/controller-gen
CLIENT_GEN := bin/client-gen bin/lister-gen bin/informer-gen
BENCHSTAT := bin/benchstat
VALE := bin/vale
DEADCODE := bin/deadcode
PROMETHEUS := bin/prometheus
HELM := bin/helm
# The controller of Argo CD that makes Applications from decisions, and its manifests.
ARGOCD := bin/argocd
# The programs of the oldest release of Kubernetes that Berth supports, and of the release before that of berth-hub.
OLDEST := bin/kubernetes/v1.30
FORMER := bin/kubernetes/v1.35
# What runs containers, from packages of the distribution, for the tests on a real node.
NODE := bin/node
NODE_PACKAGES := containerd runc containernetworking-plugins libseccomp2 nftables libnftables1 libnftnl11 libmnl0 libjansson4 libxtables12 libedit2 libbsd0 libmd0 libgmp10

# A browser for the tests of the console, and the rules of accessibility that they check.
CHROMIUM := bin/chromium
AXE := bin/axe.min.js

# How often each benchmark of the engine runs: benchstat needs several runs to tell a difference from noise.
COUNT ?= 6

# The prose that Vale lints. hack/vale/vale.ini lists the exceptions.
PROSE := README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs examples hub/README.md internal/README.md

# The wire format that existing clients use, where it lies beside this checkout.
WIRE_CHECK := $(wildcard ../shared/wire/check)

# in_each_module runs a command in every module with code, all of them even when one fails. Arguments: its name, the command.
define in_each_module
@status=0; for module in $(WITH_CODE); do echo "$(1): $$module"; (cd $$module && $(2)) || status=1; done; exit $$status
endef

# Explains why something cannot be built or fetched here.
ADVISE := $(CURDIR)/hack/advise

.PHONY: help
help: ## List these targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { gsub(/\$$\$$/, "$$"); printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build every binary into bin/, without symbols, as releases are.
	@$(ADVISE) go build -ldflags '-s -w' -o bin/ ./cmd/berth ./cmd/kubectl-berth ./cmd/berth-agent ./hub/cmd/berth-hub

# What a release has: programs that run in images, the command line, and where they run.
IMAGES := berth berth-agent berth-hub
PLATFORMS ?= linux/amd64 linux/arm64
CLI_PLATFORMS ?= $(PLATFORMS) darwin/arm64
RELEASE := bin/release
# The registry and repository prefix that make image pushes to, such as localhost:5001/berth. Empty pushes nothing. IMAGEFLAGS=--insecure is for plain HTTP.
REGISTRY ?=
IMAGEFLAGS ?=

# The release that this tree leads to. internal/kube/version puts it into every binary.
VERSION := $(shell sed -n 's/^const release = "\(.*\)"$$/\1/p' internal/kube/version/version.go)

comma := ,
empty :=
list = $(subst $(empty) $(empty),$(comma),$(strip $(1)))

# build_for builds programs for one platform. Arguments: OS/architecture, module folder, programs. The same commit gives the same bytes, and its
# version is in them.
define build_for
@echo "build: $(3) for $(1)"
@mkdir -p $(RELEASE)/$(subst /,_,$(1))
@cd $(2) && GOOS=$(word 1,$(subst /, ,$(1))) GOARCH=$(word 2,$(subst /, ,$(1))) \
  $(ADVISE) go build -trimpath -buildvcs=true -ldflags '-s -w -buildid=' -o $(CURDIR)/$(RELEASE)/$(subst /,_,$(1))/ $(addprefix ./cmd/,$(3))

endef

.PHONY: binaries
binaries: ## Build the programs of a release for every platform into bin/release/.
	rm -rf $(RELEASE)
	$(foreach platform,$(PLATFORMS),$(call build_for,$(platform),.,berth berth-agent))
	$(foreach platform,$(PLATFORMS),$(call build_for,$(platform),hub,berth-hub))
	$(foreach platform,$(CLI_PLATFORMS),$(call build_for,$(platform),.,kubectl-berth))

.PHONY: image
image: binaries ## Build images into bin/image/, one OCI archive a program, with SBOMs; push them with REGISTRY=host/prefix.
	cd hack/release && go run . image --binaries $(CURDIR)/$(RELEASE) --out $(CURDIR)/bin/image --programs $(call list,$(IMAGES)) \
	  --platforms $(call list,$(PLATFORMS)) --release $(VERSION) --push '$(REGISTRY)' $(IMAGEFLAGS)

.PHONY: release
release: IMAGEFLAGS += --tag $(VERSION)
release: clean-tree image ## Build everything that a release holds into bin/dist/, with checksums. The same commit gives the same bytes.
	cd hack/release && go run . files --binaries $(CURDIR)/$(RELEASE) --images $(CURDIR)/bin/image --charts $(CURDIR)/charts \
	  --definitions $(CURDIR)/config/crd --release $(VERSION) --out $(CURDIR)/bin/dist

# A release is built from a commit, so that its version is true. The toolchain reads the commit of a clone, and not of a worktree.
.PHONY: clean-tree
clean-tree:
	@test -d .git || { echo "release: build in a clone of the repository, not in a git worktree or an unpacked archive"; exit 1; }
	@test -z "$$(git status --porcelain --untracked-files=no)" || { echo "release: the tree has changes; commit or stash them, so that the version names what is built"; exit 1; }
	@git tag --points-at HEAD | grep -qx '$(VERSION)' || echo "release: THIS COMMIT HAS NO TAG $(VERSION): its programs report $(VERSION) with the commit; tag it first for the release itself"

.PHONY: generate
generate: $(CONTROLLER_GEN) $(CLIENT_GEN) ## Regenerate deepcopy, clients, CRDs, RBAC and the reference documentation.
	./hack/generate bin

.PHONY: verify
verify: $(CONTROLLER_GEN) $(CLIENT_GEN) ## Fail when something generated, formatting or a go.mod is out of date.
	@WIRE_CHECK=$(WIRE_CHECK) ./hack/verify bin $(MODULES)

.PHONY: lint
lint: $(GOLANGCI_LINT) $(VALE) $(DEADCODE) ## Lint the code, the prose and the commits, and check that the linters still report what they must.
	@hack/lint/run bin '$(PROSE)' $(WITH_CODE)

# What make test and make slow run: folders such as engine or hub/integration/join; empty for all. RUN is a pattern of tests, and FLAGS has
# further flags of go test.
PKGS ?=
RUN ?=
FLAGS ?=
RUNTESTS := bin/test/runtests
TESTFLAGS = -run '$(RUN)' -flags '$(FLAGS)'

.PHONY: runtests
runtests:
	@$(ADVISE) go build -o bin/test/ ./hack/runtests

.PHONY: test
test: runtests ## Run the tests that a change must pass; PKGS='engine hub/integration/join' runs those of some packages.
	@$(ADVISE) $(RUNTESTS) $(TESTFLAGS) $(PKGS)

# A part of the slow tests, such as 2/8; empty for all.
SHARD ?=

.PHONY: slow
slow: runtests ## Run what needs other programs, root or long time: browser, node, Helm, Argo CD, old Kubernetes; SHARD=2/8 runs a part.
	@$(ADVISE) $(RUNTESTS) $(TESTFLAGS) -slow -shard '$(SHARD)' $(PKGS)

.PHONY: test-env
test-env: runtests ## Build the programs under test and print the variables that go test needs: eval "$$(make -s test-env)".
	@$(RUNTESTS) -env

# How long make fuzz fuzzes each target.
FUZZTIME ?= 2s

.PHONY: fuzz
fuzz: ## Fuzz everything that reads bytes from users, each target for seconds; make slow does so too.
	hack/fuzz $(FUZZTIME) bin/fuzz $(sort $(dir $(shell grep -rl '^func Fuzz' --include='*_test.go' --exclude-dir=bin . | grep -v '/testdata/')))

# How long make long fuzzes each target.
LONGFUZZTIME ?= 5m

.PHONY: long
long: runtests ## Run for hours: the long variants of tests (BERTH_LONG=1), and minutes of fuzzing per target.
	BERTH_LONG=1 $(ADVISE) $(RUNTESTS) -flags -timeout=12h $(PKGS)
	BERTH_LONG=1 FUZZTIME=$(LONGFUZZTIME) $(ADVISE) $(RUNTESTS) -slow -flags -timeout=12h $(PKGS)

.PHONY: demo
demo: ## Start a hub with an example fleet and show its decisions.
	@echo "Building bin/berth-hub, which has a Kubernetes control plane: minutes at the first time."
	@$(ADVISE) go build -ldflags '-s -w' -o bin/ ./hub/cmd/berth-hub
	bin/berth-hub demo

.PHONY: run
run: build ## Start a hub that keeps its data in .berth/.
	bin/berth-hub --data-dir .berth

# Flags of the benchmark: -only 1000x1000 measures one run, -times 5 prints evidence for its bounds, -results names the file of figures.
BENCHFLAGS ?=

.PHONY: bench
bench: build $(PROMETHEUS) ## Measure a whole hub, and fail where a bound of bench/rangespec.yaml is broken.
	go run ./bench/cmd/berth-bench -bin bin -results bin/bench/results.json $(BENCHFLAGS)

# How long a soak lasts.
SOAK ?= 30m

.PHONY: soak
soak: build ## Change a hub for half an hour, and fail if memory or latency grows.
	go run ./bench/cmd/berth-bench -bin bin -only soak -for $(SOAK) $(BENCHFLAGS)

.PHONY: bench-engine
bench-engine: $(BENCHSTAT) ## Run the benchmarks of the engine and summarise them.
	go test -run '^$$' -bench . -benchmem -count $(COUNT) ./... | tee bin/bench.txt
	$(BENCHSTAT) bin/bench.txt

# The pinned tools. Each is built from source when its pin changes.
$(GOLANGCI_LINT): PACKAGE := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(CONTROLLER_GEN): PACKAGE := sigs.k8s.io/controller-tools/cmd/controller-gen
$(CLIENT_GEN): PACKAGE = k8s.io/code-generator/cmd/$(@F)
$(BENCHSTAT): PACKAGE := golang.org/x/perf/cmd/benchstat
# Vale reads Go files by a parser in C.
$(VALE): export CGO_ENABLED := 1
$(VALE): PACKAGE := github.com/vale-cli/vale/v3/cmd/vale
$(DEADCODE): PACKAGE := golang.org/x/tools/cmd/deadcode
$(GOLANGCI_LINT) $(CONTROLLER_GEN) $(CLIENT_GEN) $(BENCHSTAT) $(VALE) $(DEADCODE): $(TOOLS)
	@echo "building $(@F)"
	@[ "$$CGO_ENABLED" = 0 ] || command -v $${CC:-gcc} >/dev/null || { echo "$(@F): there is no $${CC:-gcc}; install gcc, or name another C compiler in CC"; exit 1; }
	cd hack/tools && GOWORK=off $(ADVISE) go build -o $(abspath $@) $(PACKAGE)
	@touch $@

# Helm, in a module of its own: it needs other versions of Kubernetes' libraries than Berth.
$(HELM): hack/helm/go.mod hack/helm/go.sum
	@echo "building $(@F)"
	cd hack/helm && GOWORK=off $(ADVISE) go build -o $(abspath $@) helm.sh/helm/v3/cmd/helm
	@touch $@

# Argo CD, in a module of its own: it needs other versions of Kubernetes' libraries than Berth.
$(ARGOCD): hack/argocd/go.mod hack/argocd/go.sum hack/argocd/build
	@echo "building $(@F)"
	$(ADVISE) hack/argocd/build $@
	@touch $@

# Programs of another release of Kubernetes, from the module proxy. Each release has a module of its own.
$(OLDEST) $(FORMER): bin/kubernetes/%: hack/kubernetes/%/go.mod hack/kubernetes/%/go.sum hack/kubernetes/build
	@echo "building the programs of Kubernetes $*"
	$(ADVISE) hack/kubernetes/build hack/kubernetes/$* $@
	@touch $@

# Unpacks what runs containers.
$(NODE): hack/unpack
	@echo "unpacking $(@F)"
	$(ADVISE) hack/unpack $@ $(NODE_PACKAGES)
	@touch $@

# Unpacks a browser.
$(CHROMIUM): hack/chromium hack/unpack
	@echo "unpacking $(@F)"
	$(ADVISE) hack/chromium $@
	@touch $@

$(AXE): hack/bundle internal/console/ui/package-lock.json
	@echo "copying $(@F)"
	$(ADVISE) hack/bundle axe-core/axe.min.js $@

# Prometheus and promtool, from the distribution's package: a test runs the dashboard and the alerts on them.
$(PROMETHEUS): hack/prometheus
	@echo "unpacking $(@F)"
	@mkdir -p $(@D)
	$(ADVISE) hack/prometheus $(@D)
