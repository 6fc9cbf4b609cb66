#!/usr/bin/env bash
# A throwaway PostgreSQL for the tests, on a socket in a temporary folder.
#
#   dsn=$(bash .ci/postgres.sh start)    installs Debian's PostgreSQL where there is none
#   TRIALFRAME_POSTGRES=$dsn python -m pytest tests/export
#   bash .ci/postgres.sh stop "$dsn"
set -euo pipefail

# The server refuses to run as root: then it runs as the user that Debian's package makes.
as_owner() {
  if [ "$(id -u)" = 0 ]; then
    runuser -u "$owner" -- "$@"
  else
    "$@"
  fi
}

bindir() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }

start() {
  if [ -z "$(bindir)" ]; then
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >&2
  fi
  bin=$(bindir)
  owner=postgres
  folder=$(as_owner mktemp -d /tmp/postgres.XXXXXX)
  as_owner sh -c "printf 'p-w %%40' >'$folder/password'"
  as_owner "$bin/initdb" -D "$folder/data" -U tester -A scram-sha-256 \
    --pwfile="$folder/password" -E UTF8 --locale=C.UTF-8 >&2
  as_owner "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w \
    -o "-k $folder -c listen_addresses='' -c fsync=on" start >&2
  printf 'postgresql://tester:p-w%%20%%2540@/postgres?host=%s\n' "$folder"
}

stop() {
  owner=postgres
  folder=${1##*host=}
  case $folder in
    /tmp/postgres.??????) ;;
    *)
      echo "no folder of this script: $folder" >&2
      exit 2
      ;;
  esac
  as_owner "$(bindir)/pg_ctl" -D "$folder/data" -m immediate stop >&2
  rm -rf "$folder"
}

case ${1-} in
  start) start ;;
  stop) stop "$2" ;;
  *)
    echo "usage: $0 start | stop DSN" >&2
    exit 2
    ;;
esac
