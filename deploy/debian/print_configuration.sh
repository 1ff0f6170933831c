#!/bin/sh
# print_configuration.sh PROGRAM : the configuration file of the package, with every option as a comment.
set -eu
echo "# What vramscope.service runs with: every option with its default. Take the # from those to be changed, and from the"
echo "# sections that they stand in; \`vramscope config check FILE\` says whether it is right, \`systemctl reload vramscope\` reads it."
"$1" config print-defaults | sed 's/^/#/'
