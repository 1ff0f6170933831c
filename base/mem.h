/*
 * Small memory, whose size our own code chose.
 *
 * Shape    these functions never return NULL: when the system has nothing left the
 *          process stops with one line, and the service manager starts it again.
 *          Sizes that a peer chose go through an arena or a limit first.
 */
#pragma once

#include <stddef.h>

/* count * size zeroed bytes. */
void *mem_zalloc(size_t count, size_t size) __attribute__((returns_nonnull, malloc));

/*
 * The same for a table that is filled at random: every page is written now, since a
 * page that is read before it is written costs two faults, and large ones ask for huge
 * pages. Released by mem_table_free() with the same count and size; NULL is fine there.
 */
void *mem_table(size_t count, size_t size) __attribute__((returns_nonnull));
void mem_table_free(void *table, size_t count, size_t size);

/* A table of more entries that begins as this one did; large ones are not copied. */
void *mem_table_grow(void *table, size_t old_count, size_t count, size_t size)
	__attribute__((returns_nonnull));

/* `old`, grown or shrunk to count * size bytes; what is new is not zeroed. */
void *mem_resize(void *old, size_t count, size_t size) __attribute__((returns_nonnull));

char *mem_strdup(const char *text) __attribute__((returns_nonnull, malloc));

/* length bytes of text and a NUL. */
char *mem_strndup(const char *text, size_t length) __attribute__((returns_nonnull, malloc));

/* free(*p), for CLEANUP on any pointer. */
void mem_freep(void *pointer_to_pointer);
