/*
 * embedder DRIVER LIBPYTHON : calls the driver, and behind its first calls loads a Python
 * interpreter and runs a program in it, from the main thread and from one of its own.
 *
 * Waits for a line on standard input, and says what it did then: "called", ten times
 * "embedded", "done". Each call takes 1000 bytes: ten from C, ten from Python's embedded(), and
 * ten from in_thread().
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define CALLS 10

static const char program[] =
	"import ctypes\n"
	"driver = ctypes.CDLL('%s')\n"
	"address = ctypes.c_uint64()\n"
	"def call():\n"
	"    driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1000))\n"
	"def embedded():\n"
	"    call()\n"
	"def in_thread():\n"
	"    call()\n";

static int (*run_text)(const char *text);
static int (*take_lock)(void);
static void (*give_lock)(int lock);

static void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		_exit(3);
	return found;
}

static void wait_for_line(void)
{
	char byte;

	if (read(STDIN_FILENO, &byte, 1) != 1)
		_exit(4);
}

static void say(const char *what)
{
	(void)printf("%s\n", what);
	(void)fflush(stdout);
}

static void *call_in_thread(void *context)
{
	const int lock = take_lock();

	(void)context;
	if (run_text("in_thread()\n") != 0)
		_exit(5);
	give_lock(lock);
	return NULL;
}

/* Until somebody watches: a driver's initialization takes its time. */
static void begin(void *driver)
{
	int (*init)(unsigned flags);
	struct pollfd line = { .fd = STDIN_FILENO, .events = POLLIN };

	*(void **)&init = find(driver, "cuInit");
	while (poll(&line, 1, 10) == 0)
		init(0);
}

static void call_from_c(void *driver)
{
	int (*alloc)(uint64_t * address, size_t bytes);
	uint64_t address;

	*(void **)&alloc = find(driver, "cuMemAlloc_v2");
	for (int i = 0; i < CALLS; i++)
		(void)alloc(&address, 1000);
}

static void call_from_python(void *python, const char *path)
{
	void (*init)(int signals);
	void *(*save)(void);
	char text[sizeof(program) + 4096];
	pthread_t thread;

	*(void **)&init = find(python, "Py_InitializeEx");
	*(void **)&save = find(python, "PyEval_SaveThread");
	*(void **)&run_text = find(python, "PyRun_SimpleString");
	*(void **)&take_lock = find(python, "PyGILState_Ensure");
	*(void **)&give_lock = find(python, "PyGILState_Release");
	init(0);
	(void)snprintf(text, sizeof(text), program, path);
	if (run_text(text) != 0)
		_exit(6);
	/* the first is where it is noticed that there is an interpreter */
	for (int i = 0; i < CALLS; i++) {
		if (run_text("embedded()\n") != 0)
			_exit(7);
		say("embedded");
		wait_for_line();
	}
	(void)save();
	for (int i = 0; i < CALLS; i++)
		if (pthread_create(&thread, NULL, call_in_thread, NULL) != 0 ||
		    pthread_join(thread, NULL) != 0)
			_exit(8);
}

int main(int argc, char **argv)
{
	void *driver = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void *python;

	if (!driver)
		return 2;
	begin(driver);
	wait_for_line();
	call_from_c(driver);
	say("called");
	wait_for_line();
	python = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
	if (!python) {
		(void)fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	call_from_python(python, argv[1]);
	say("done");
	wait_for_line();
	return 0;
}
