/* Processes that suspend others: it is enough that there is one of that number. */
#include <errno.h>
#include <signal.h>
#include <sys/types.h>

#include "tests/collector/stub/stub_result.h"

int cuCheckpointProcessLock(int pid, void *arguments);
int cuCheckpointProcessCheckpoint(int pid, void *arguments);
int cuCheckpointProcessRestore(int pid, void *arguments);
int cuCheckpointProcessUnlock(int pid, void *arguments);

static int answer(int pid)
{
	return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM) ? STUB_SUCCESS
	                                                               : STUB_INVALID_VALUE;
}

int cuCheckpointProcessLock(int pid, void *arguments)
{
	(void)arguments;
	return answer(pid);
}

int cuCheckpointProcessCheckpoint(int pid, void *arguments)
{
	(void)arguments;
	return answer(pid);
}

int cuCheckpointProcessRestore(int pid, void *arguments)
{
	(void)arguments;
	return answer(pid);
}

int cuCheckpointProcessUnlock(int pid, void *arguments)
{
	(void)arguments;
	return answer(pid);
}
