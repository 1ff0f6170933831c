/*
 * A thread that asks devices what they hold, whenever it is told to.
 *
 * Shape    opening starts it and returns at once: loading the library and its init may take
 *          seconds. The first picture comes unasked. A call of a broken driver may never
 *          return: nobody waits for it but that thread, and closing leaves it behind.
 *          A library that is not there, or whose init fails, ends the thread; nothing of it
 *          is called any more.
 * Units    nanoseconds of the monotonic clock.
 * Errors   device_watch_trouble() tells of them, for whoever logs.
 * Threads  one owner; the lock guards what it shares with the thread. Whichever of the two
 *          ends last releases everything.
 * Source   collector specification 2.5
 */
#pragma once

#include "base/error.h"
#include "collector/nvml/nvml_reader.h"

#define DEVICE_HANG_NS  (INT64_C(10) * 1000000000) /* a call that takes longer hangs; a guess */
#define DEVICE_CLOSE_NS (INT64_C(1) * 1000000000)  /* then it is left behind; likewise */

struct device_watch_options {
	const char *path;      /* of the library; "": where it usually is */
	const char *host_root; /* that is looked into as well; "": none */
	enum nvml_pids pids;
	int64_t hang_ns;  /* 0: as above */
	int64_t close_ns; /* 0: as above */
};

struct device_watch;

/* Texts of the options are copied. */
struct device_watch *device_watch_open(const struct device_watch_options *options)
	__attribute__((returns_nonnull));

/* NULL is fine. */
void device_watch_close(struct device_watch *watch);

/*
 * Readable when there is something to take, or trouble; but that nothing comes is told by
 * nothing: of a hang whoever asks for trouble from time to time hears.
 */
int device_watch_descriptor(const struct device_watch *watch);

/*
 * Asks for a picture of now. False: none will come soon, since there is no library, it is
 * not ready yet, or a call still runs.
 */
bool device_watch_ask(struct device_watch *watch);

/* The newest picture, unless it was taken before. */
bool device_watch_take(struct device_watch *watch, struct device_picture *out);

enum device_trouble {
	DEVICE_TROUBLE_NONE,
	DEVICE_TROUBLE_ABSENT, /* there is no library: nothing will come */
	DEVICE_TROUBLE_BROKEN, /* there is one, and nothing will come */
	DEVICE_TROUBLE_HANGS,  /* it may come back */
	DEVICE_TROUBLE_FAILED, /* this time, maybe again and again */
};

/* What has gone wrong since it was asked; each hang is told once. */
enum device_trouble device_watch_trouble(struct device_watch *watch, struct error *out);
