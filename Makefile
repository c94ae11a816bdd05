# LogParser. "make help" lists what can be made; docs/dependencies.md says what
# is installed for it and why.

SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The log that "make run" opens.
LOG ?= assets/sample/LogDetails.dat
# Seconds for each fuzz target, and rounds of each fault test, in "make soak".
SOAK_SECONDS ?= 600
SOAK_ROUNDS ?= 10000

VERSION := $(or $(shell sed -n 's/^ *Version *= *"\([0-9.]*\)"/\1/p' FyneApp.toml 2>/dev/null),0.0.0)
WINDOW := -tags migrated_fynedo -trimpath -ldflags "-s -w"
COMMAND := -trimpath -ldflags "-s -w"

.PHONY: help
help: ## lists the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /|/' | awk -F'|' '{ printf "make %-12s %s\n", $$1, $$2 }'

.PHONY: run
run: check-go ## builds LogParser and opens the sample log; without a display prints it as a table
ifeq ($(or $(DISPLAY),$(WAYLAND_DISPLAY),$(filter Darwin,$(shell uname -s))),)
	@echo "No display here: the command logparse prints the log. With a display this opens the window."
	@$(MAKE) command
	@build/logparse show "$(LOG)"
else
	@$(MAKE) window
	@build/logparser "$(LOG)"
endif

.PHONY: test
test: check-go ## runs all tests and counts them
	@scripts/test.sh

.PHONY: command
command: check-go ## builds build/logparse, which needs no C compiler and no display
	@scripts/setup.sh command
	CGO_ENABLED=0 go build $(COMMAND) -o build/logparse ./cmd/logparse

.PHONY: window
window: check-go ## builds build/logparser, the desktop program
	@scripts/setup.sh window
	@[ -e build/logparser ] || echo "The first build of the window takes some minutes."
	CC="$$(. scripts/toolchains.sh; cgo_compiler)" CGO_ENABLED=1 go build $(WINDOW) -o build/logparser .

.PHONY: logtest
logtest: ## builds LogTest, the program of the article of 2013, for Linux and Windows, and says how to run it
	@scripts/setup.sh logtest
	@scripts/logtest.sh

.PHONY: install
install: command window ## installs both programs, menu entry, file types and completions for the user (PREFIX=/usr/local: for all)
	@[ -n "$(DESTDIR)" ] || scripts/setup.sh desktop
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" packaging/linux/install.sh install

.PHONY: uninstall
uninstall: ## takes away what "make install" put there
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" packaging/linux/install.sh uninstall

.PHONY: windows
windows: check-go ## builds build/windows/LogParser.exe and logparse.exe for Windows x64
	@scripts/setup.sh windows
	@VERSION=$(VERSION) packaging/windows/build.sh build/windows

.PHONY: bench
bench: check-go ## measures speed and memory, beside llvm-symbolizer and addr2line; takes many minutes; OLD=COMMIT [NEW=COMMIT] compares commits
	@scripts/setup.sh bench
	@scripts/bench.sh $(if $(OLD),compare $(OLD) $(NEW))

.PHONY: soak
soak: check-go ## fuzzes and damages inputs for hours (SOAK_SECONDS a fuzz target, SOAK_ROUNDS a fault test)
	@scripts/setup.sh test
	@scripts/soak.sh $(SOAK_SECONDS) $(SOAK_ROUNDS)

.PHONY: conformance
conformance: check-go ## compares symbol reading with other tools' tables, saved files with readers, values with uftrace's, and programs with and without the recorder, also ones made at random
	@scripts/conformance.sh
	@scripts/texts.sh
	@scripts/check-exports.sh
	@scripts/values.sh
	@scripts/programs.sh
	@recorder/tests/random.sh 200 20

.PHONY: screenshots
screenshots: check-go ## makes the pictures of docs/images anew
	@scripts/setup.sh test
	@$(MAKE) window command
	@ui/xvfb/run.sh build/logparser build/logparse docs/images
	@ui/xvfb/tour.sh build/logparser build/logparse docs/images
	@ui/xvfb/window.sh build/logparser build/logparse docs/images

.PHONY: fmt
fmt: check-go ## formats the Go code
	@gofmt -w $$(find . -name '*.go' -not -path './build/*')

.PHONY: lint
lint: check-go ## gofmt, go vet, staticcheck and the check for machine names
	@scripts/test.sh lint

.PHONY: clean
clean: ## removes what was built
	rm -rf build rsrc_windows_amd64.syso cmd/logparse/rsrc_windows_amd64.syso

.PHONY: check-go
check-go:
	@scripts/check-go.sh
