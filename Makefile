# SPDX-License-Identifier: MIT
# demo and test do all their own set-up; the rest assume it was done once.
.PHONY: demo test check build python bench lint fuzz format setup

setup:
	@scripts/setup

build: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $$(nproc) --target limen_cli

python: setup
	@scripts/python

demo: build
	@scripts/demo

test: setup
	@scripts/test

check: setup
	@scripts/check

bench: setup
	@scripts/bench

lint:
	@scripts/setup tools
	@scripts/format --check
	@scripts/lint

fuzz:
	@scripts/fuzz

format: setup
	@scripts/format
