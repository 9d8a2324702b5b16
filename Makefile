# `make` alone prints the targets. Only `make services` needs root.

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X campaignd/internal/version.linked=$(VERSION)
SEEDS    ?= 300
LEARN    ?= 1h
FUZZTIME ?= 10s
MUTATIONS ?= 40
SEED     ?= 1
GOLANGCI := bin/golangci-lint
GOLANGCI_VERSION := v2.15.0
GORELEASER_VERSION := v2.16.0
HELM_VERSION := v4.3.1
HELM_UNITTEST_VERSION := v1.1.2
PROMETHEUS_VERSION := v0.316.0
KUBECONFORM_VERSION := v0.8.0
ARCH ?= $(shell go env GOARCH)
VERSITYGW_VERSION := v1.8.0
KUBERNETES_VERSION := v1.36.3
KIN_OPENAPI_VERSION := v0.152.0
LIBOPENAPI_VERSION := v0.16.2

# The packages with goroutines of their own. The race detector is five to ten times slower, so it
# runs over these only, and campaign/sender with fewer seeds.
CONCURRENT := ./campaign ./campaign/plan ./throttle/... ./internal/ledger/... ./internal/webhooks/... \
	./internal/messaging/... ./internal/sandbox/... ./internal/drops/... ./internal/operator/... \
	./internal/api/... ./internal/config/... ./internal/schedule/... ./internal/daemon/... \
	./internal/numbers/... ./internal/purchases/... ./internal/uploads/... ./internal/console/...

# The suites of real processes wait nearly all the time, for leases, servers and processes.
FAULTS := go test -tags mutants -count=1 -v -parallel 4 -timeout 60m

.DEFAULT_GOAL := help

# "##" marks the everyday targets, "#+" those of measurements, rehearsals and releases.
.PHONY: help more
help: ## list the everyday targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

more: ## list the others: measurements, rehearsals, images, releases
	@awk -F ':.*#[+] ' '/^[a-z0-9-]+:.*#[+] / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the static binary ./campaignd
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o campaignd ./cmd/campaignd

.PHONY: build-otel
build-otel: #+ build ./campaignd with OpenTelemetry traces
	CGO_ENABLED=0 go build -trimpath -tags otel -ldflags '$(LDFLAGS)' -o campaignd ./cmd/campaignd

.PHONY: demo
demo: ## send 2,000 messy rows to the built-in sandbox, print the report
	go run ./cmd/campaignd demo

BASE ?= $(shell git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)
.PHONY: quick
quick: ## before a commit: format, build, rules, the nearest tests, new lint findings (BASE=COMMIT)
	scripts/quick.sh $(BASE)

.PHONY: affected
affected: ## before a push: every test that can see the change since BASE, with race, and its mutations
	scripts/affected.sh $(BASE)

.PHONY: night
night: #+ run every suite whole, and record the results in .ci/night (90 minutes)
	.ci/run night

.PHONY: test
test: ## run the tests that take at most some seconds each
	go test ./...

.PHONY: test-long
test-long: ## run every test, also the long ones
	go test -tags long -timeout 30m ./...

# The files with the build tag long in packages of which `make race` does not run all.
UNRACED = $(filter-out $(subst ./,,$(subst ...,%,$(CONCURRENT))),$(shell git grep -l '^//go:build.*\blong\b' -- '*_test.go'))

.PHONY: test-unraced
test-unraced: #+ run the long tests that `make race` leaves out
	go test -tags long -v -timeout 30m -skip '^TestSimulation' ./campaign/sender
	go test -tags long -v -timeout 30m -run '^($(shell grep -ho '^func Test[A-Za-z0-9]*' $(UNRACED) | sed 's/func //' | paste -sd '|'))$$' \
		$(addprefix ./,$(filter-out campaign/sender/,$(sort $(dir $(UNRACED)))))

# SQLite is C that was translated to Go. Watching each of its memory accesses took three quarters of
# the step's time, and its memory is its own: what is passed to it is copied.
RACE := CGO_ENABLED=1 go test -tags long -race -gcflags=modernc.org/...=-race=false -short -timeout 30m

.PHONY: race
race: ## run the concurrent packages under the race detector
	$(RACE) $(CONCURRENT)
	$(RACE) ./campaign/sender -seeds 10 -replay 0

PACKAGES ?= $(CONCURRENT)
.PHONY: race-quick concurrent
race-quick: #+ run the quick tests of PACKAGES under the race detector
	$(subst -tags long ,,$(RACE)) -vet=off $(filter-out ./campaign/sender,$(PACKAGES))
	$(if $(filter ./campaign/sender,$(PACKAGES)),$(subst -tags long ,,$(RACE)) -vet=off ./campaign/sender -seeds 2 -replay 0)

concurrent: # list them
	@go list -f '{{.Dir}}' $(CONCURRENT) ./campaign/sender | sed 's|^$(CURDIR)|.|'

.PHONY: browser
browser: #+ open the HTML reports and the console in chromium: axe-core, a phone and a desk, both themes, print
	scripts/browser.sh

.PHONY: picture
picture: #+ draw the pictures of a report and of the console for the README, docs/*.png
	scripts/browser.sh -run 'README|PicturesOf' -readme $(CURDIR)/docs/report.png -console $(CURDIR)/docs

.PHONY: lint
lint: $(GOLANGCI) ## formatting and golangci-lint, which runs vet
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'gofmt -w these:'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GOLANGCI) run ./...

# The installation takes about 90 s.
$(GOLANGCI):
	GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

.PHONY: helm
helm: bin/helm bin/helm-unittest bin/kubeconform bin/kubeschemas ## check the chart: lint, golden manifests, unit tests, schemas
	scripts/helm.sh

# The installation takes about two minutes.
bin/helm:
	GOBIN=$(CURDIR)/bin go install helm.sh/helm/v4/cmd/helm@$(HELM_VERSION)

bin/kubeconform:
	GOBIN=$(CURDIR)/bin go install github.com/yannh/kubeconform/cmd/kubeconform@$(KUBECONFORM_VERSION)

.PHONY: rules
rules: bin/promtool ## check the alerts, their unit tests and their runbooks
	scripts/rules.sh

# Without service discovery, which needs the clients of twenty clouds.
bin/promtool:
	GOBIN=$(CURDIR)/bin CGO_ENABLED=0 go install -tags remove_all_sd github.com/prometheus/prometheus/cmd/promtool@$(PROMETHEUS_VERSION)

# helm-unittest replaces a module, so it is built in a module of its own.
bin/helm-unittest:
	rm -rf bin/build && mkdir -p bin/build && cd bin/build && go mod init build 2>/dev/null && go mod edit \
		-require github.com/helm-unittest/helm-unittest@$(HELM_UNITTEST_VERSION) \
		-replace github.com/vmware-labs/yaml-jsonpath=github.com/helm-unittest/yaml-jsonpath@v0.4.0 && \
		CGO_ENABLED=0 go build -trimpath -mod=mod -o ../helm-unittest github.com/helm-unittest/helm-unittest/cmd/helm-unittest
	rm -rf bin/build

# The schemas are those of the module of Kubernetes itself.
bin/kubeschemas: tools/kubeschemas/main.go
	go mod download k8s.io/kubernetes@$(KUBERNETES_VERSION)
	go run ./tools/kubeschemas $$(go env GOMODCACHE)/k8s.io/kubernetes@$(KUBERNETES_VERSION)/api/openapi-spec/swagger.json $@
	touch $@

# buildah needs no daemon and no root file system of its own. Two builds of one commit have one
# digest.
IMAGE ?= campaignd:$(VERSION)
.PHONY: image
image: #+ build the container image IMAGE with buildah, for ARCH (amd64 or arm64)
	@mkdir -p bin/image
	CGO_ENABLED=0 GOARCH=$(ARCH) go build -trimpath -ldflags '$(LDFLAGS)' -o bin/image/campaignd-$(ARCH) ./cmd/campaignd
	cp /etc/ssl/certs/ca-certificates.crt bin/image/
	buildah $(BUILDAH_FLAGS) bud --isolation chroot --timestamp 0 --arch $(ARCH) --build-arg TARGETARCH=$(ARCH) \
		-f deploy/Dockerfile -t $(IMAGE) bin/image

.PHONY: snapshot
snapshot: bin/goreleaser #+ build archives, packages, SBOMs and checksums of the commit into dist/release; nothing is published
	scripts/release.sh $(CURDIR)/dist/release

.PHONY: reproducible
reproducible: bin/goreleaser #+ build the snapshot twice, and the image twice, and require the same bytes
	scripts/release.sh --twice $(CURDIR)/dist/release

bin/goreleaser:
	GOBIN=$(CURDIR)/bin CGO_ENABLED=0 go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)

bin/bench: $(wildcard tools/bench/*.go)
	CGO_ENABLED=0 go build -trimpath -o $@ ./tools/bench

.PHONY: container
container: #+ run the image as the chart sets it: doctor, the demo, ROWS (1,000,000) rows (root, crun and buildah)
	scripts/container.sh $(ROWS)

.PHONY: arm64
arm64: #+ run the image for arm64 under qemu: version and the demo (root, buildah and qemu-user-static)
	scripts/arm64.sh

.PHONY: fuzz
fuzz: ## fuzz each target for FUZZTIME (10s)
	scripts/fuzz.sh $(FUZZTIME)

.PHONY: sim
sim: ## simulate the send path with SEEDS (300) seeds, and learned paces for LEARN (1h) of virtual time
	go test -tags long ./campaign/sender -run TestSimulation -count=1 -seeds $(SEEDS)
	go test ./internal/sandbox -run TestTenThousandCalls -count=1 -calls 10000
	go test ./throttle -run 'TestALearned|TestIndependent' -count=1 -learn-for $(LEARN) -timeout 1h

.PHONY: drops
drops: #+ drop files at three watchers under virtual time with SEEDS (300) seeds, and 10,000 files at once (an hour)
	go test ./internal/drops -run TestEachDroppedFileIsTakenOnce -count=1 -seeds $(SEEDS) -timeout 2h
	go test ./internal/drops -run TestManyFilesAtOnce -count=1 -files 10000 -timeout 1h -v

# One virtual hour takes about five seconds.
SCENE := go test -tags mutants ./internal/daemon -run EachFiringAndFile -count=1 -v -timeout 6h -scene-files 100

.PHONY: day
day: ## a day of schedules and files under virtual time (2 to 4 minutes)
	$(SCENE) -scene 24h

.PHONY: s3
s3: bin/versitygw #+ test watched buckets against versitygw, which checks signatures; 3 minutes of it with kills
	go test ./internal/drops -tags mutants,s3 -run 'Bucket|Object|Put|Read|Spool|Server' -count=1 -v -versitygw $(CURDIR)/bin/versitygw
	$(FAULTS) ./internal/daemon/harness -run FiringsAndFiles -scene 3m -scene-files 30 -versitygw $(CURDIR)/bin/versitygw

# The installation takes about two minutes.
bin/versitygw:
	GOBIN=$(CURDIR)/bin go install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)

.PHONY: harness
harness: ## kill real processes, compare the ledger with the sandbox
	$(FAULTS) -skip '^TestCluster' ./internal/daemon/harness

.PHONY: cluster
cluster: ## the same of three replicas, PostgreSQL and Redis
	$(FAULTS) -run '^TestCluster' ./internal/daemon/harness

.PHONY: rehearse
rehearse: #+ lose a PostgreSQL server in the middle of a run, restore its backup or promote its standby, send to nobody twice (20 minutes)
	scripts/rehearse.sh dump
	scripts/rehearse.sh base
	scripts/rehearse.sh failover

# OLD is the commit to upgrade from; the test does not go back to it. Without OLD, this commit is
# the older program, the newer one is built with one more migration, and the test also goes back.
OLD ?=
UPGRADE := go test -tags mutants,upgrade -count=1 -v -run 'TestUpgradeInTheMiddleOfARun$$' ./internal/daemon/harness
.PHONY: upgrade
upgrade: #+ replace three replicas and the schema in the middle of a run of 50,000 rows, and go back (OLD=COMMIT: from there)
ifeq ($(OLD),)
	$(UPGRADE)
else
	rm -rf bin/old && mkdir -p bin && git worktree prune && git worktree add -f --detach bin/old $(OLD)
	cd bin/old && CGO_ENABLED=0 go build -tags mutants -o ../campaignd-old ./cmd/campaignd
	git worktree remove --force bin/old
	$(UPGRADE) -old $(CURDIR)/bin/campaignd-old
endif

# Kills, kills in a cluster, kills over the Cloud API, and a STOP that a killed process received.
.PHONY: faults-quick
faults-quick: #+ the four scenes of faults whose promises matter most
	$(FAULTS) ./internal/daemon/harness \
		-run '^(TestNobodyIsSentToTwiceOrLostByKilledProcesses|TestClusterNobodyIsSentToTwiceOrLost|TestKilledProcessesOverTheCloudAPI|TestStopIsObeyedByKilledProcesses)$$'

.PHONY: faults
faults: ## harness and cluster at once
	$(FAULTS) ./internal/daemon/harness

.PHONY: mutants
mutants: ## apply each written mutation; its tests must find it
	go run ./tools/mutate -written

.PHONY: forecast
forecast: #+ forecast 200 random scenarios, then send them under virtual time and compare (10 minutes)
	go test ./campaign/sender -run 'TestForecastAgainstTheTruth$$' -forecast 1001 -forecasts 200 -timeout 90m -v

.PHONY: mutate
mutate: #+ apply MUTATIONS (40) random ones (SEED=1)
	go run ./tools/mutate -n $(MUTATIONS) -seed $(SEED)

.PHONY: bench
bench: ## measure sending, import and memory beside a bare loop
	go run ./tools/bench

.PHONY: bench-step
bench-step: #+ time and memory of a planning step: 1,000,000 rows, 50 runs, 20 numbers; STEP="-step-runs 500 -step-numbers 200"
	go test ./campaign/sender -run XXX -bench PlanningStep -benchtime 3000x -step-rows 1000000 $(STEP)

.PHONY: bench-cluster
bench-cluster: #+ replicas on private PostgreSQL and Redis servers: rate, CPU, COPY, bytes per delivery
	go run ./tools/bench -cluster

LARGE ?= 10000000
.PHONY: large
large: #+ import and send LARGE (10,000,000) rows with four replicas on PostgreSQL (an hour or two, 20 GB)
	go run ./tools/bench -large $(LARGE)

.PHONY: bench-reports
bench-reports: #+ report, HTML and audit of a run of ROWS (10,000,000) generated rows on a private PostgreSQL (6 minutes, 6 GB)
	go run ./tools/bench -generated $(or $(ROWS),10000000)

# Not part of the gate: building the servers takes ten minutes.
.PHONY: kubernetes
kubernetes: bin/helm #+ install, upgrade, roll back and uninstall the chart on a real API server
	KUBERNETES_VERSION=$(KUBERNETES_VERSION) scripts/kubernetes.sh

# The validators are built in modules of their own; the second one takes minutes the first time.
.PHONY: openapi
openapi: #+ check the OpenAPI documents (3.1 and 3.0.3) with two validators
	@mkdir -p dist/openapi
	go test ./internal/api -run 'TestTheDocumentIsWhole$$' -count=1 -documents $(CURDIR)/dist/openapi
	go run github.com/getkin/kin-openapi/cmd/validate@$(KIN_OPENAPI_VERSION) dist/openapi/openapi-3.0.json
	go run github.com/pb33f/libopenapi-validator/cmd/validate@$(LIBOPENAPI_VERSION) dist/openapi/openapi.json

.PHONY: bench-api
bench-api: #+ pages of the deliveries of a run of 1,000,000 rows on a private PostgreSQL, with every filter
	go test ./internal/ledger/postgres -run '^$$' -bench PagesOfDeliveries -pagerows 1000000 -benchtime 30x -timeout 20m

.PHONY: bench-console
bench-console: #+ pages of the console with a run of ROWS=1000000 rows while it sends: median, 99 %, bytes on the wire
	CI= scripts/browser.sh -run PagesAreQuick -rows $(or $(ROWS),1000000) -timeout 30m

.PHONY: services
services: ## install redis-server, PostgreSQL, PgBouncer and chromium for the tests
	scripts/services.sh

.PHONY: clean
clean: ## remove the built files
	rm -rf campaignd dist bin
