/*
 * What the tests of a spool share: a folder of their own, and files in it.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPOOL_PATH_MAX 256

struct spool_place {
	char parent[SPOOL_PATH_MAX / 2];
	char path[SPOOL_PATH_MAX];
};

static inline void place_make(struct spool_place *place)
{
	(void)snprintf(place->parent, sizeof(place->parent), "/tmp/vramscope-spool-XXXXXX");
	assert_non_null(mkdtemp(place->parent));
	(void)snprintf(place->path, sizeof(place->path), "%s/spool", place->parent);
}

static inline void place_file(const struct spool_place *place, const char *name,
                              char out[static SPOOL_PATH_MAX * 2])
{
	(void)snprintf(out, (size_t)SPOOL_PATH_MAX * 2, "%s/%s", place->path, name);
}

/* Removes the folder and what is in it, one level deep. */
static inline void place_empty(const char *path)
{
	char name[SPOOL_PATH_MAX * 2];
	const struct dirent *entry;
	DIR *folder = opendir(path);

	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (unlink(name) < 0)
			(void)rmdir(name);
	}
	(void)closedir(folder);
	(void)rmdir(path);
}

static inline void place_remove(const struct spool_place *place)
{
	(void)chmod(place->path, 0700);
	place_empty(place->path);
	place_empty(place->parent);
}

/* How many files with a push's name there are. */
static inline size_t place_count(const struct spool_place *place, const char *ending)
{
	const struct dirent *entry;
	DIR *folder = opendir(place->path);
	size_t count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)))
		count += strlen(entry->d_name) == 21 && strcmp(entry->d_name + 16, ending) == 0;
	(void)closedir(folder);
	return count;
}

static inline size_t place_read(const struct spool_place *place, const char *name, char *to,
                                size_t size)
{
	char path[SPOOL_PATH_MAX * 2];
	ssize_t length;
	int fd;

	place_file(place, name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	length = read(fd, to, size);
	assert_true(length >= 0);
	(void)close(fd);
	return (size_t)length;
}

static inline void place_write(const struct spool_place *place, const char *name, const char *bytes,
                               size_t length)
{
	char path[SPOOL_PATH_MAX * 2];
	int fd;

	place_file(place, name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), length);
	(void)close(fd);
}
