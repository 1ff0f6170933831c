/*
 * Runs a fuzz target over the files and folders that are named: the saved inputs are tests in every build.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MAX ((size_t)16 << 20) /* a saved input is small */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t replayed;

static void replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(INPUT_MAX);
	uint8_t *exact;
	size_t size;

	if (!file || !bytes) {
		perror(path);
		exit(1);
	}
	size = fread(bytes, 1, INPUT_MAX, file);
	(void)fclose(file);
	/* a copy of just that size, so that a sanitizer sees a byte too many */
	exact = malloc(size ? size : 1);
	if (!exact)
		exit(1);
	memcpy(exact, bytes, size);
	free(bytes);
	(void)LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	replayed++;
}

static void replay(const char *path)
{
	struct stat status;
	struct dirent **names = NULL;
	int count;

	if (stat(path, &status) < 0) {
		perror(path);
		exit(1);
	}
	if (!S_ISDIR(status.st_mode)) {
		replay_file(path);
		return;
	}
	count = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char inside[4096];

		if (names[i]->d_name[0] != '.') {
			(void)snprintf(inside, sizeof(inside), "%s/%s", path, names[i]->d_name);
			replay(inside);
		}
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	(void)printf("%zu inputs replayed\n", replayed);
	return replayed > 0 ? 0 : 1;
}
