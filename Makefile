# The tests by tier, each under its name; `make help` lists them.
#
# All tiers use cargo's plain dev profile, so that clippy, documentation, unit and integration tests share what was
# built, in one target directory. A release profile would build all dependencies once more, for tests that do not
# measure speed; the test VM alone has one, since its processor is emulated and the program is to keep
# its pace there. Cargo lets one build run at a time; what is already built runs beside the next build.

SHELL := /bin/bash
.DEFAULT_GOAL := help

CHECK_TIERS := fmt clippy unit
TEST_TIERS := unit clippy fmt size standalone msrv doc soak integration manifests paging vm deny
# No target is a file.
.PHONY: $(shell sed -nE 's/^([a-z-]+):([^=].*)?$$/\1/p' $(MAKEFILE_LIST))

TARGET := $(or $(CARGO_TARGET_DIR),target)
LOGS := $(TARGET)/tiers
RELEASED := $(TARGET)/release-packages
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/roce_exporter-tests
VENV := $(CACHE)/venv
PREVIEW := $(CACHE)/dashboard-preview
PAGE_CHECK := $(CACHE)/page-check
SCHEMATHESIS := $(CACHE)/schemathesis
# Where setup puts the Python parser and cargo's own programs.
export PATH := $(VENV)/bin:$(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

# One commit has one result: properties draw the same cases each time here, new ones in `make properties`.
export PROPTEST_RNG_SEED ?= 1

TIER := tools/tier $(LOGS)

# Tiers run side by side as far as make and cargo allow; each result counts, whatever became of the others.
run_tiers = rm -rf $(LOGS) && TIERS_COLLECTED=1 $(MAKE) --no-print-directory -j5 $(1) && tools/summary $(LOGS) $(2)

help: ## this list
	@sed -nE 's/^([a-z]+):.*## (.*)$$/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20
	@echo
	@echo 'ROCE_REQUIRE_ALL_TIERS=1 makes a missing tool a failure. Logs are in $(LOGS).'

setup: setup-tests setup-vm setup-manifests setup-deny ## installs what the tests use (Debian, as root), else lists what is missing

setup-tests:
	@tools/setup tests $(VENV) $(PREVIEW) $(PAGE_CHECK) $(SCHEMATHESIS)

# After the other part: apt-get runs once at a time.
setup-vm: setup-tests
	@tools/setup vm

setup-manifests: setup-vm
	@tools/setup manifests $(CACHE)/venv-packages $(CACHE)/kubernetes

setup-deny:
	@tools/setup deny

check: ## the fast part: fmt, clippy, unit
	@$(call run_tiers,$(CHECK_TIERS),$(CHECK_TIERS))

test: ## everything
	@$(call run_tiers,setup $(TEST_TIERS),$(TEST_TIERS))

fmt: ## formatting
	@$(TIER) fmt -- cargo fmt --all --check

clippy: ## lints of all targets, also that no function is too long
	@$(TIER) clippy -- cargo clippy --locked --workspace --all-targets -- -D warnings

doc: ## documentation without a broken link
	@$(TIER) doc -- env RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --document-private-items

unit: ## tests inside the source, and examples in its documentation
	@$(TIER) unit -- tools/unit-tests

# The other tests are built while the soak runs and begin when it has ended: both measure time.
integration: $(if $(TIERS_COLLECTED),setup-tests unit integration-built soak) ## tests over the library's interface and the built program
	@$(TIER) integration -- cargo test --locked --no-fail-fast --test '*' -- --show-output

integration-built: soak-built
	@cargo test --locked --quiet --no-run --test '*'

# The built program alone: a `cargo test` would wait for the builds that go on beside it.
soak-built: $(if $(TIERS_COLLECTED),setup-tests unit)
	@cargo test --locked --quiet --no-run --test soak --message-format=json | \
		sed -n 's/.*"executable":"\([^"]*\/soak-[^"]*\)".*/\1/p' >$(TARGET)/soak-program

# In `make test` a minute, and once more if that fails: some figures depend on how busy the machine is.
soak: SOAK_SECONDS ?= $(if $(TIERS_COLLECTED),60,600)
soak: soak-built ## the program for SOAK_SECONDS (600) under everything at once, against leaks and wrong figures
	@TIER_SECONDS=$$(($(SOAK_SECONDS) + 900)) $(TIER) soak -- env SOAK_SECONDS=$(SOAK_SECONDS) bash -c \
		'"$$0" $(if $(TIERS_COLLECTED),|| "$$0")' "$$(cat $(TARGET)/soak-program)"

# Not beside other tests, here and for the virtual machine: they measure time.
manifests: $(if $(TIERS_COLLECTED),setup-manifests integration) ## the systemd unit, the Dockerfile and Kubernetes' files, by what reads them
	@cargo build --locked --quiet --bin roce_exporter
	@$(TIER) manifests --needs python3 -- tests/packages/run.py $(CACHE)/venv-packages $(CACHE)/kubernetes $(TARGET)/debug/roce_exporter

paging: $(if $(TIERS_COLLECTED),manifests) ## who is told what by Prometheus and Alertmanager: a healthy fabric, a storm, a one-sided link
	@$(TIER) paging -- cargo test --locked --test alerts lead_to_their -- --ignored --nocapture

vm: $(if $(TIERS_COLLECTED),setup-vm paging) ## the program on a RoCE NIC in a real kernel, in a virtual machine
	@$(TIER) vm --needs python3 -- tests/vm/host/run.py $(CACHE)/vm

deny: $(if $(TIERS_COLLECTED),setup-deny) ## licences, bans and sources of dependencies
	@$(TIER) deny --needs cargo-deny -- cargo deny --locked check licenses bans sources

msrv: ## whether the program builds with the Rust version that it promises
	@$(TIER) msrv -- tools/check-msrv

size: ## whether a source file is too long
	@$(TIER) size -- tools/check-size

standalone: ## whether something refers to a place outside this tree
	@$(TIER) standalone -- tools/check-standalone

deploy: ## writes the parts of deploy/ that come from alerts/ and dashboards/
	@UPDATE_EXPECT=1 cargo test --locked --quiet --test deploy

setup-packages:
	@tools/setup packages $(CACHE)/venv-packages $(CACHE)/kubernetes

release: setup-packages ## the static program and its packages with checksums and bill of materials, below target/release-packages
	@tools/packages "$$(tools/static-build)" $(RELEASED)
	@cat $(RELEASED)/SHA256SUMS

reproducible: release ## whether the commit gives the same bytes in another place; builds all of it once more
	@$(TIER) reproducible -- tools/reproducible $(RELEASED)

packages: release ## whether what is shipped installs, runs and goes: container, unit, deb, rpm, Kubernetes; some minutes
	@$(TIER) packages -- tests/packages/run.py $(CACHE)/venv-packages $(CACHE)/kubernetes \
		$(TARGET)/$$(rustc --print host-tuple)/release/roce_exporter $(RELEASED)

readme: ## the two commands that the README begins with, in a fresh Debian; two builds of everything
	@TIER_SECONDS=10800 $(TIER) readme --needs python3 -- tests/packages/readme.py

properties: ## every property over PROPTEST_CASES (5000) cases that no run saw before
	@$(TIER) properties -- env -u PROPTEST_RNG_SEED PROPTEST_CASES=$(or $(PROPTEST_CASES),5000) \
		cargo test --locked --lib --test catalogue --test cli_settings --test record -- --show-output

long: ## the engine over 24 hours of samples at 100 ms and one at 1 ms of each course; some minutes
	@$(TIER) long -- env ROCE_LONG=1 cargo test --locked --test truth long:: -- --show-output

# One test after the other: the long ones use two processors each.
day: ## whole days of simulated traffic before the alert rules: healthy, and with every scenario; some minutes
	@cargo test --locked --profile day --test day -- --include-ignored --nocapture --test-threads 1

alerts: ## who is told what, for every scenario of the demo; ten minutes
	@cargo test --locked --profile day --test alerts leads_to_its -- --ignored --nocapture

scale: ## how long the fleet dashboard and the rules take over 50, 100 and 250 hosts; minutes, some gigabytes
	@cargo test --locked --test dashboards scale -- --ignored --nocapture
	@cargo test --locked --test alerts one_evaluation -- --ignored --nocapture

scrapes: ## how long scrapes take, 100 a second for 30 s, while 8 NICs are read every 1 ms; minutes, a release build
	@cargo run --locked --release --example scrapes

fuzz: ## each parser of foreign bytes for FUZZ_SECONDS (60); needs a nightly compiler and cargo-fuzz
	@$(TIER) fuzz --needs cargo-fuzz -- tools/fuzz $(or $(FUZZ_SECONDS),60)

mutants: ## changes engine and catalogue (or FILES) one place at a time, lists what no unit test notices; SHARD=0/8 for a part; hours
	@tools/mutants $(TARGET)/mutants $(FILES) -- $(addprefix --shard=,$(SHARD))

# Not by the tests: figures are those of a quiet machine. BENCH names sections: sample scrape storms program deadlines.
bench: ## what the program costs beside its peers, as a table and as JSON in target/bench.json; minutes, as root
	@cargo build --locked --release --bin roce_exporter --example bench
	@$(TARGET)/release/examples/bench --json=$(TARGET)/bench.json $(BENCH)

bench-check: ## the same, and fails where a target is missed
	@cargo build --locked --release --bin roce_exporter --example bench
	@$(TIER) bench-check -- $(TARGET)/release/examples/bench --check --json=$(TARGET)/bench.json $(BENCH)
