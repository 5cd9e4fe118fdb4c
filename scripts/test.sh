#!/bin/sh
# `npm test`: brings a bare Debian or Ubuntu machine to where the tests can run (packages, npm modules), then runs all of them.
set -eu
cd "$(dirname "$0")/.."
scripts/install-test-tools.sh
# npm writes its own list last: without it an installation was interrupted.
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo 'test: installing npm packages'
  npm ci --no-audit --no-fund --loglevel=error
fi
export PATH="$PWD/node_modules/.bin:$PATH"
exec node scripts/test.ts "$@"
