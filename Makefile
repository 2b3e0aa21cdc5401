# `make demo` shows what the product does, `make test` proves it. Both install what is missing on Debian, as root or
# with sudo. The rest is for those who work on the product.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Where the Python servers of tests and demos live.
VENV := .venv
# The same for servers of Socket.IO 2.x.
LEGACY := .venv-legacy
# Where the conformance suite is kept.
SUITE := .conformance
# Tests that start servers and other processes, which run apart from the rest; see Tests/all.
WITH_SERVERS := ^(InteropTests|ChatTests|ToolTests|SocketIOTests|LinkspanServicesTests|FuzzTests|LinkspanOutboxKillTests)[.]
# What `make sanitize` looks for. Leaks are not among it: the detector does not see a reference that shares its word with the
# tag of an enum, nor the side table of a weak one. Tests count objects, descriptors and memory instead.
SANITIZER := thread
FOLDERS := Sources Plugins Tool Samples Tests Fuzz Benchmarks Package.swift

# The package's traits: both back ends of byte streams, so that the tests run over each. The demo is built as an app would be.
export LINKSPAN_TRAITS ?= LWS,NIO

# The package manager passes the traits in the order of a hash: where that differs from run to run, a change of a manifest or of
# the environment compiles everything again. Tests/all takes it back.
export SWIFT_DETERMINISTIC_HASHING := 1

.PHONY: help demo docs test test-all prerequisites servers venv sanitize conformance fuzz attacks exits kills power benchmark benchmark-compare mutations flakes lint format

help:  ## Lists the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

demo: prerequisites  ## Builds the chat and runs its demo.
	@env -u LINKSPAN_TRAITS .ci/progress "Building the chat" swift build --product chat
	@echo
	@.build/debug/chat demo
	@echo
	@echo "To chat for real, start a server:"
	@echo "  .build/debug/chat serve --port 3000"
	@echo "and in two more terminals:"
	@echo "  .build/debug/chat join --name ann --transport socketio  --url http://127.0.0.1:3000"
	@echo "  .build/debug/chat join --name bob --transport websocket --url ws://127.0.0.1:3000"

test: servers  ## Runs every test, those against real servers included.
	swift build --build-tests
	Tests/all

test-all: export LINKSPAN_WIRES := $(or $(WIRE),all)
test-all: servers  ## Runs the tests against servers over every wire and back end, not a choice; WIRE=polling+tls: over that one.
	swift build --build-tests
	swift test --skip-build --no-parallel --filter '^(InteropTests|LinkspanDevServerTests)[.]'

sanitize: servers  ## Runs the tests under a sanitizer: SANITIZER=thread (the default) or address.
	swift build --build-tests --sanitize=$(SANITIZER) --scratch-path .build-$(SANITIZER)
	export TSAN_OPTIONS="suppressions=$(CURDIR)/Tests/tsan-suppressions.txt"; \
	export ASAN_OPTIONS="detect_leaks=0:suppressions=$(CURDIR)/Tests/asan-suppressions.txt"; \
	export SWIFT_BACKTRACE="enable=no"; \
	swift test --skip-build --sanitize=$(SANITIZER) --scratch-path .build-$(SANITIZER) --no-parallel \
		--skip '$(WITH_SERVERS)'; \
	swift test --skip-build --sanitize=$(SANITIZER) --scratch-path .build-$(SANITIZER) --no-parallel \
		--filter '$(WITH_SERVERS)'

conformance: prerequisites  ## Runs the Autobahn suite over both back ends; LONG=1 adds its slow cases, NETWORK=nio is one.
	@.ci/prerequisites gcc
	Tests/Conformance/setup $(SUITE)
	swift build -c release --product conformance-client
	Tests/Conformance/run.py --folder $(SUITE) $(if $(LONG),--long) $(addprefix --network ,$(NETWORK)) \
		--client "$$(swift build -c release --show-bin-path)/conformance-client"

fuzz: prerequisites  ## Fuzzes TARGET (all unless given) for SECONDS (60 unless given).
	Fuzz/run $(or $(TARGET),all) $(or $(SECONDS),60)

attacks: prerequisites venv  ## Lets hostile servers attack for 20 seconds each, and prints a table.
	swift build --build-tests
	@echo "attack | name | wire | end | after the limit | memory | slowest answer to a neighbour | links"
	ATTACK_SECONDS=20 swift test --skip-build --no-parallel --filter '^InteropTests[.].*AttackTests' \
	    | grep -E '^attack|✘|Test run'

exits: prerequisites venv  ## Lets RUNS processes (500 unless given) send and exit, by each way out over each wire, and prints what arrived.
	swift build --build-tests
	EXITS=$(or $(RUNS),500) swift test --skip-build --no-parallel --filter '^InteropTests[.]QuickExitTests' \
	    | grep -E '^[0-9]+ exits|✘|Test run'

kills: servers  ## Kills a client with an outbox KILLS times over each wire and broker, 500 unless given, and says what came of it.
	swift build --build-tests
	TEST_KILLS=$(or $(KILLS),500) swift test --skip-build --no-parallel --filter '^(LinkspanOutboxKillTests|LinkspanBrokersTests)[.].*KillTests' \
	    | grep -E '^killed|✘|Test run'

power: prerequisites  ## Opens an outbox's file as each of its writes may leave it when power is lost, after HISTORIES random histories, 100,000 or a range of seeds, and with DAMAGES, 2,000 or a range.
	swift build --build-tests
	TEST_REMAINS=all TEST_HISTORIES=$(or $(HISTORIES),100000) TEST_DAMAGES=$(or $(DAMAGES),2000) \
	    swift test --skip-build --no-parallel --filter '^LinkspanOutboxTests[.](PowerLoss|OutboxModel|Damage)' \
	    | grep -E '^loss of power|^histories|^damaged files|✘|Test run'

benchmark: prerequisites  ## Runs the workloads beside a floor in C and other clients, ROUNDS times each, and writes table and plot; BASE=<commit> adds a commit.
	@.ci/prerequisites gcc g++ libwebsocketpp-dev libboost-dev valgrind
	Benchmarks/run --write --rounds $(or $(ROUNDS),5) $(if $(BASE),--base $(BASE)) $(ROWS)

benchmark-compare: prerequisites  ## Runs the workloads alternately with those of commit BASE (HEAD unless given), ROUNDS times each.
	Benchmarks/compare $(or $(BASE),HEAD) $(or $(ROUNDS),5)

mutations: servers  ## Puts deliberate bugs into the product and expects the tests to find each: BUGS=AREA or NAME, all unless given.
	@.ci/prerequisites patch
	Tests/Mutations/run $(BUGS)

flakes: servers  ## Runs the suite RUNS times while BURNERS programs keep the cores busy; CORES=1 for one core.
	swift build --build-tests
	Tests/repeat --runs $(or $(RUNS),20) --burners $(or $(BURNERS),2) $(if $(CORES),--cores $(CORES)) \
		$(if $(ONLY),--only '$(ONLY)')

docs: prerequisites  ## Builds the documentation of all modules into .docs; fails on warnings and on symbols without a topic.
	swift build
	.ci/docs

lint:  ## Checks format, documentation, wording, imports and structure, and that the deliberate bugs still apply.
	@.ci/prerequisites python3 patch
	swift format lint --strict --recursive $(FOLDERS)
	.ci/imports
	.ci/privacy
	.ci/voice
	.ci/structure --check
	Tests/Mutations/run --check
	@# A loop that yields and looks at neither cancellation nor a deadline hangs when its test fails.
	@! grep -rlPzo '\n +while [^\n]*\{\s[^}]*await Task\.yield\(\)' Tests --include=*.swift --exclude=Eventually.swift || \
		{ echo "error: wait by eventually() of Tests/TestSupport" >&2; exit 1; }

format:  ## Formats the Swift code.
	swift format --in-place --recursive $(FOLDERS)

prerequisites:
	@.ci/prerequisites build python3 openssl

# All that the tests need, which is asked for at once.
servers:
	@.ci/prerequisites tests $$($(MAKE) -q $(VENV)/.ready $(LEGACY)/.ready 2>/dev/null || echo pypi)
	@$(MAKE) --no-print-directory $(VENV)/.ready $(LEGACY)/.ready

venv: $(VENV)/.ready  ## Makes the Python virtual environment with the servers that tests and demos talk to.

$(VENV)/.ready: Tests/requirements.txt Samples/Chat/requirements.txt
	@.ci/prerequisites python3 python3-venv pypi
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r Tests/requirements.txt
	@touch $@

$(LEGACY)/.ready: Tests/requirements-legacy.txt
	@.ci/prerequisites python3 python3-venv pypi
	python3 -m venv $(LEGACY)
	$(LEGACY)/bin/pip install --quiet --disable-pip-version-check -r Tests/requirements-legacy.txt
	@touch $@
