#include "tests/collector/workload_contexts.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/collector/workload_driver.h"

#define DEVICE      1
#define STORM_PAIRS 3000
#define PAGE        4096
#define PLACE       ((uintptr_t)0x7e1000000000) /* nobody else maps there */

struct context_driver {
	int (*init)(unsigned int flags);
	int (*alloc)(uint64_t *address, size_t bytes);
	int (*free)(uint64_t address);
	int (*device_of)(int *device, void *context);
	int (*set_current)(void *context);
	int (*get_current)(void **context);
	int (*create)(void **context, unsigned int flags, int device);
	int (*destroy)(void *context);
	int (*reset)(int device);
	int (*release)(int device);
	void (*set_unseen)(int device);
};

static void load(struct context_driver *driver, const char *path)
{
	const struct {
		const char *name;
		void *function;
	} functions[] = {
		{ "cuInit", &driver->init },
		{ "cuMemAlloc_v2", &driver->alloc },
		{ "cuMemFree_v2", &driver->free },
		{ "cuCtxGetDevice_v2", &driver->device_of },
		{ "cuCtxSetCurrent", &driver->set_current },
		{ "cuCtxGetCurrent", &driver->get_current },
		{ "cuCtxCreate_v2", &driver->create },
		{ "cuCtxDestroy_v2", &driver->destroy },
		{ "cuDevicePrimaryCtxReset_v2", &driver->reset },
		{ "cuDevicePrimaryCtxRelease_v2", &driver->release },
		{ "stub_set_unseen", &driver->set_unseen },
	};
	void *library = dlopen(path, RTLD_NOW);

	if (!library)
		stop("the driver cannot be loaded");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*(void **)functions[i].function = dlsym(library, functions[i].name);
		if (!*(void **)functions[i].function)
			stop(functions[i].name);
	}
}

static void must(int result)
{
	if (result != STUB_SUCCESS)
		stop("a call has failed");
}

static void *context_of_ours(void)
{
	return (void *)PLACE; /* NOLINT(performance-no-int-to-ptr): the same in every program */
}

/* The driver's contexts begin with the number of their device. */
static void *make_context(void)
{
	int *context = mmap(context_of_ours(), PAGE, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (context != context_of_ours())
		stop("no place for a context");
	*context = DEVICE;
	return context;
}

static void storm(const struct context_driver *driver)
{
	for (int i = 0; i < STORM_PAIRS; i++) {
		uint64_t address = 0;

		must(driver->alloc(&address, 64));
		must(driver->free(address));
	}
}

static void ask(const struct context_driver *driver)
{
	int device = -1;

	must(driver->device_of(&device, context_of_ours()));
	if (device != DEVICE)
		stop("the context is on another device");
}

static void go_unseen(const struct context_driver *driver)
{
	void *current = NULL;

	must(driver->set_current(context_of_ours()));
	driver->set_unseen(DEVICE);
	must(driver->get_current(&current));
	must(driver->set_current(context_of_ours()));
	if (current == context_of_ours())
		stop("no other context is current");
}

static void create_and_end(const struct context_driver *driver)
{
	void *context = NULL;

	must(driver->create(&context, 0, 0));
	must(driver->destroy(context));
}

static void follow(const struct context_driver *driver, char word)
{
	if (word == CONTEXT_WORD_STORM_ASK || word == CONTEXT_WORD_STORM_UNSEEN)
		storm(driver);
	switch (word) {
	case CONTEXT_WORD_ASK:
	case CONTEXT_WORD_STORM_ASK:
		ask(driver);
		break;
	case CONTEXT_WORD_UNSEEN:
	case CONTEXT_WORD_STORM_UNSEEN:
		go_unseen(driver);
		break;
	case CONTEXT_WORD_RESET:
		must(driver->reset(DEVICE));
		break;
	case CONTEXT_WORD_RELEASE:
		must(driver->release(DEVICE));
		break;
	case CONTEXT_WORD_CREATE_END:
		create_and_end(driver);
		break;
	default:
		stop("a word that nobody knows");
	}
}

static void say_ready(void)
{
	(void)printf("{\"ready\": %d}\n", (int)getpid());
	(void)fflush(stdout);
}

void workload_contexts_run(const char *program, const char *path)
{
	struct context_driver driver;
	char word;

	load(&driver, path);
	must(driver.init(0));
	must(driver.set_current(make_context()));
	say_ready();
	while (read(STDIN_FILENO, &word, 1) == 1) {
		if (word == CONTEXT_WORD_EXEC) {
			execl(program, program, path, "contexts", NULL);
			stop("no exec");
		}
		follow(&driver, word);
		say_ready();
	}
}
