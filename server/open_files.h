/*
 * How many files a process may have open.
 *
 * Shape    as many as the system allows: a server has connections and windows of its store,
 *          a collector the files of other processes, and the usual limit of 1,024 is for
 *          programs that call select().
 * Errors   logged: the limit stays where it is.
 * Threads  before there are any.
 */
#pragma once

void open_files_raise(void);
