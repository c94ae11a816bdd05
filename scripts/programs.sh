#!/bin/bash
# programs.sh runs programs that were not written for the recorder with it and
# without (recorder/tests/programs.sh says what is compared): those of
# recorder/tests/programs and, where the distribution's source package can be
# had, the test programs of uftrace.
#
#	scripts/programs.sh
set -u
cd "$(dirname "$0")/.."
folders=recorder/tests/programs
if why=$(scripts/debian-source.sh uftrace "$PWD/build/programs" uftrace 2>&1); then
	folders="$folders build/programs/uftrace/tests"
else
	echo "left out: the test programs of uftrace; $why"
fi
exec recorder/tests/programs.sh $folders
