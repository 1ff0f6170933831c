/*
 * Tells the service manager how we are: datagrams to $NOTIFY_SOCKET.
 *
 * Shape    nothing happens without NOTIFY_SOCKET. Failures are ignored: nobody waits.
 * Threads  the main thread.
 * Source   sd_notify(3); deployment specification, 8.2
 */
#pragma once

/* "READY=1", "STOPPING=1"; several assignments in lines. */
void notify_send(const char *state);

/* RELOADING=1 with the time that the manager asks for. */
void notify_reloading(void);
