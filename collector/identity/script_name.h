/*
 * What an interpreter runs, by its command line: `python /x/train.py` is "train.py".
 *
 * Shape    arguments as /proc has them, each with a NUL behind it. Of Python, -m and the
 *          options that take a value are known; of the others the first argument that is
 *          no option is the script.
 * Source   collector specification 6.4, rule 7
 */
#pragma once

#include "base/str.h"

/*
 * The name, a view into `arguments`; empty when `program` (its base name) is no
 * interpreter, or runs no script.
 */
struct str script_name(struct str program, struct str arguments);
