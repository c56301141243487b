# The two commands: `make run` and `make test`. `make help` lists the rest.
#
# Everything is built in the release profile, in one target folder that outlives this checkout: RocksDB's native part
# takes 15-25 minutes on two cores and is to be built once.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)
export CARGO_TARGET_DIR ?= $(CACHE)/lycosa/target
# The venv with the WARC readers that the tests compare with, and its Python.
VENV := $(CARGO_TARGET_DIR)/venv
export LYCOSA_PYTHON ?= $(VENV)/bin/python
# The same with the programs that exports are made for; `make soak-index` alone makes and uses it.
READERS := $(CARGO_TARGET_DIR)/readers
# Debian's documentation in six languages, for it too.
DOCS := $(CARGO_TARGET_DIR)/docs
# Real pages that a test crawls: python3-doc/ and debian-reference/.
export LYCOSA_PAGES ?= $(CARGO_TARGET_DIR)/pages
BINARY := $(CARGO_TARGET_DIR)/release/lycosa
# Debug assertions and fault points for this package alone, quick to compile; no dependency is built again.
PLAIN := --release --locked \
	--config profile.release.package.lycosa.debug-assertions=true --config profile.release.package.lycosa.opt-level=1
CHECKED := $(PLAIN) --features faults

# For `make run`. Handed on by the environment: a URL may hold what a shell would take for its own.
export SEED ?=
export CONTACT ?=
export DATA ?= data
ARGS ?=

.PHONY: help run build setup test test-tools soak soak-index soak-refresh soak-memory fuzz bench profile check fmt fmt-check clippy deny dist clean \
	features

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20
	@echo
	@echo '  make run SEED=https://your.site/ CONTACT=you@your.site   crawls that site into $(DATA)/ until done'
	@echo '  make run                                                 crawls a practice web on this machine into practice/'

setup: ## install what the build needs (Debian packages), nothing that is there
	@config/setup.sh build

build: setup ## build the program
	@config/build.sh

run: build ## crawl: SEED=URL CONTACT=mail, or the practice web
ifeq ($(SEED),)
	@config/practice.sh $(BINARY) $(ARGS)
else
	@$(BINARY) run --seed "$$SEED" $${CONTACT:+--contact "$$CONTACT"} --data "$$DATA" --until-done $(ARGS)
endif

test-tools: setup
	@config/setup.sh test $(VENV) $(LYCOSA_PAGES)

test: test-tools ## install what the tests need and run them all
	config/build.sh cargo test $(CHECKED) --doc
	cargo test $(CHECKED) --tests

# How often the daemon is killed, at which passes of each fault point, and how often the power fails in each of three settings.
KILLS ?= 1000
PASSES ?= 1,5,25,100
FAILURES ?= 100

soak: test-tools ## kill the daemon and let the power fail again and again: KILLS=1000 PASSES=1,5,25,100 FAILURES=100
	config/build.sh cargo test $(CHECKED) --test it --no-run
	LYCOSA_KILLS=$(KILLS) LYCOSA_PASSES=$(PASSES) cargo test $(CHECKED) --test it matrix:: -- --nocapture --test-threads 1
	LYCOSA_COPY_KILLS=300 cargo test $(CHECKED) --test it copies:: -- --nocapture --test-threads 1
	LYCOSA_BLACKOUTS=$(FAILURES) cargo test $(CHECKED) --test it blackout:: -- --nocapture --test-threads 1

# How many times as large the tests of what is made of the pages become; 17 makes 51 kills of each kind and 1,020 pieces to look for.
SCALE ?= 17

soak-index: test-tools ## feed, index, search and exports, larger and killed more often: SCALE=17
	@config/setup.sh large $(READERS) $(DOCS)
	config/build.sh cargo test $(CHECKED) --test it --no-run
	LYCOSA_SCALE=$(SCALE) LYCOSA_READERS=$(READERS)/bin/python LYCOSA_DOCS=$(DOCS) \
		cargo test $(CHECKED) --test it -- --nocapture --test-threads 1 --include-ignored known_items:: \
		feed::who_follows index:: search::what_is_quoted export::each_format export_derived:: mirror:: sinks:: corpus::changed

soak-refresh: test-tools ## visits: a host with 10,000 new pages and 10,000 visits
	config/build.sh cargo test $(CHECKED) --test it --no-run
	LYCOSA_SCALE=2 cargo test $(CHECKED) --test it -- --nocapture --test-threads 1 refresh::

# Which target is fuzzed and for how long; without one they are listed. What is found new stays beside the build.
TARGET ?=
SECONDS ?= 60
FUZZ := $(CARGO_TARGET_DIR)/fuzz

fuzz: setup ## fuzz what reads strangers' bytes: TARGET=html SECONDS=600 (tests/fuzz/README.md)
	@command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked
ifeq ($(TARGET),)
	@cargo fuzz list --fuzz-dir tests/fuzz
else
	@mkdir -p $(FUZZ)/corpus/$(TARGET)
	cargo fuzz run -s none --fuzz-dir tests/fuzz --target-dir $(FUZZ)/build $(TARGET) \
		$(FUZZ)/corpus/$(TARGET) $(wildcard tests/fuzz/corpus/$(TARGET) tests/fuzz/regressions/$(TARGET)) \
		-- -max_total_time=$(SECONDS) -max_len=4096 -timeout=10 $(addprefix -dict=,$(wildcard tests/fuzz/dict/$(firstword $(subst _, ,$(TARGET))).dict))
endif

bench: setup ## measure: criterion for the domain, end to end for the whole beside wget and benches/RESULTS.md
	@config/setup.sh bench $(LYCOSA_PAGES)
	@config/build.sh
	cargo bench --locked --profile release --bench domain_url --bench domain_robots --bench domain_html --bench storage_seen \
		-- --noplot --warm-up-time 1 --measurement-time 2
	cargo bench --locked --profile release --bench end_to_end -- --full
	cargo bench --locked --profile release --bench refresh
	benches/derived.py

profile: setup ## where every microsecond of a page goes, by perf: ARGS="--only real --rounds 1 --top 40"
	@config/setup.sh profile $(LYCOSA_PAGES)
	@config/build.sh
	@benches/budget.py $(ARGS)

# How large a frontier `make soak-memory` makes.
URLS ?= 10000000
HOSTS ?= 100000

soak-memory: setup ## measure a large frontier: restarts and memory (URLS=N HOSTS=N)
	@config/build.sh
	cargo bench --locked --profile release --bench frontier_scale -- --urls $(URLS) --hosts $(HOSTS)

check: fmt-check clippy features ## format and lints, as continuous integration does

fmt: ## format the sources
	cargo fmt

fmt-check:
	cargo fmt --check

clippy: setup ## lints, with the settings of the tests
	config/build.sh cargo clippy $(CHECKED) --all-targets -- -D warnings

# What is built without some features has no dependency that `make build` does not build too.
features: setup ## the program builds without its features and with each alone, and what is fuzzed builds
	for f in '' rocksdb s3 old-tls search cluster faults; do \
		cargo clippy $(PLAIN) --no-default-features --features "$$f" --lib --bins -- -D warnings; \
	done
	cargo check --locked --manifest-path tests/fuzz/Cargo.toml --target-dir $(FUZZ)/check

deny: ## licences, advisories, sources (needs cargo-deny: cargo install cargo-deny --locked)
	cargo deny check

dist: build ## dist/: a tarball and a Debian package
	@config/make-dist.sh $(BINARY)

clean: ## remove dist/ and this package's build output, not RocksDB's
	rm -rf dist
	cargo clean --release -p lycosa
