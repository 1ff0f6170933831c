/*
 * The part of the workload that is about contexts: what it does is said by the words that it is
 * given, a byte each.
 *
 * Shape    it says {"ready": pid} when it begins and behind each word. There is one context, at
 *          an address that every program has for it, on device 1 of the two that there are.
 * Threads  none.
 */
#pragma once

/* A word, and what is done. */
enum context_word {
	CONTEXT_WORD_ASK = 'd',       /* on which device the context is */
	CONTEXT_WORD_STORM_ASK = 'D', /* the same, when so much was sent that the ring is full */
	CONTEXT_WORD_UNSEEN = 'u',    /* another context becomes current unseen, and is asked for */
	CONTEXT_WORD_STORM_UNSEEN = 'U',
	CONTEXT_WORD_RESET = 'r',      /* of the device's primary context */
	CONTEXT_WORD_RELEASE = 'l',    /* likewise */
	CONTEXT_WORD_CREATE_END = 'c', /* another context */
	CONTEXT_WORD_EXEC = 'x',       /* the same program begins anew */
};

/* Until its input ends. */
void workload_contexts_run(const char *program, const char *path);
