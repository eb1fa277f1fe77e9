# The targets people use: make demo, make test. Everything else is for developers.
GO ?= go
TOOLS := $(GO) run -C .ci/tools
LINT := $(GO) tool -modfile=.ci/lint/go.mod
FUZZTIME ?= 10s
# The version comes from git, where git works here.
VCS := $(shell git status --porcelain >/dev/null 2>&1 && echo auto || echo false)
SEEDS ?= 20000
DIR ?= big-spool
SCALE ?= 1
# Where tests that write much and need no durable disk do so.
SCRATCH ?= $(shell test -d /dev/shm && echo /dev/shm || echo /tmp)
# A pipe fails when its first command does.
SHELL := bash
.SHELLFLAGS := -o pipefail -ec

.PHONY: build test race lint rules docs docs-check generate generate-check demo suite-go fuzz-short crash corrupt kill big-spool vuln ci clean

build: ## bin/spoolctl and bin/spoold, with the version from git
	$(GO) build -trimpath -buildvcs=$(VCS) -o bin/ ./cmd/spoolctl ./cmd/spoold

test: ## every test; under 5 minutes on 2 cores
	$(GO) test -shuffle=on ./...

race: ## every test under the race detector, shorter
	$(GO) test -race -short -shuffle=on ./...

lint: ## formatting, vet and the linters of .golangci.yml
	@test -z "$$(gofmt -l $$(git ls-files '*.go' | grep -v '\.pb\.go$$'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these files" >&2; exit 1; }
	$(GO) vet ./...
	$(LINT) golangci-lint run

rules: ## who may import whom
	$(TOOLS) ./rules ../..

docs: ## the generated pages under docs/
	$(GO) run ./cmd/spoolctl docs --dir docs/cli

docs-check: docs ## fails when a generated page was stale
	git diff --exit-code -- docs/cli
	@test -z "$$(git status --porcelain -- docs/cli)" || { git status --short -- docs/cli; exit 1; }

generate: ## wire/pb from wire/pb/pulsar.proto
	$(TOOLS) ./protogen spoolctl/wire/pulsar.proto ../../wire/pb/pulsar.proto ../../wire/pb/pulsar.pb.go

generate-check: generate
	git diff --exit-code -- wire/pb

demo: build ## a broker on a temporary spool, traffic, top, then the inspector; nothing is left behind
	bin/spoolctl demo

suite-go: build ## the Go client's own test-suite; SUITE names the script that runs it
	$(SUITE) --spoold bin/spoold --ctl bin/spoolctl --list suite-go.txt

fuzz-short: ## every fuzzer for FUZZTIME
	@for t in $$(grep -rl '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -h -o '^func Fuzz[A-Za-z0-9]*' $$t/*_test.go | sed 's/func //'); do \
	    $(GO) test $$t -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) || exit 1; done; done

crash: ## SEEDS power losses
	$(GO) test ./storage -run TestCrash -v -timeout 60m -crash.seeds $(SEEDS)

corrupt: ## every byte of every file of small spools flipped, and every file cut at every length; under an hour on 2 cores
	TMPDIR=$(SCRATCH) $(GO) test ./maintain -run 'TestCorrupt$$' -v -timeout 4h -corrupt.stride 1 | grep -v -e '^===' -e '--- PASS: .*/'
	TMPDIR=$(SCRATCH) $(GO) test ./cmd/spoolctl -run TestCorruptAnswers -v -timeout 4h -corrupt.stride 1 | grep -v -e '^===' -e '--- PASS: .*/'
	TMPDIR=$(SCRATCH) $(GO) test ./inspect -run 'TestFlippedBytes|TestTruncated' -v -timeout 4h -damage.stride 1 | grep -v -e '^===' -e '--- PASS: .*/'

kill: ## every maintenance verb killed at every step and at every system call that changes files; about 6 minutes
	TMPDIR=$(SCRATCH) $(GO) test ./maintain -run 'TestKill$$' -v -timeout 2h -kill.whole | grep -v -e '^===' -e '--- PASS: .*/'

big-spool: ## a spool of 10 GiB times SCALE below DIR, to try the inspector on; rows 10 to 12 are `cd bench && go run . inspect`
	cd bench && $(GO) run . big-spool --dir $(abspath $(DIR)) --scale $(SCALE)

vuln: ## known vulnerabilities in what the programs call; the database comes from the module proxy
	@db=$$(mktemp -d) && trap 'rm -rf "$$db"' EXIT && \
	  src=$$($(GO) mod download -json golang.org/x/vulndb@latest | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') && \
	  $(TOOLS) ./vulndb "$$src" "$$db" && \
	  $(LINT) govulncheck -format json -db "file://$$db" ./... >"$$db/found.json" && \
	  $(TOOLS) ./vulngate ../vuln-accepted.txt <"$$db/found.json"

ci: ## what CI runs
	bash .ci/run

clean:
	rm -rf bin
