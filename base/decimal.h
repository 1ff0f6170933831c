/*
 * Doubles as text: the shortest decimal that reads back as the same number.
 *
 * Shape    plain decimals from 1e-6 up to below 1e21, else d.ddde+XX or d.ddde-XX, as
 *          JavaScript writes numbers; but -0 is "-0", as Go writes it.
 * Threads  any.
 * Source   ECMA-262, Number::toString; read specification, 2.8
 */
#pragma once

#include <stddef.h>

#define DECIMAL_MAX 32 /* "-0.0000012345678901234567" and a NUL fit */

/* Writes a finite `number` and a NUL. Returns the length. */
size_t decimal_format(double number, char text[static DECIMAL_MAX]);
