/*
 * What a file shows that holds an interpreter, of a version that nobody knows: Python 3.99.
 * Nothing of it is ever called.
 */

extern const unsigned long Py_Version;
extern char _PyRuntime[4096]; /* NOLINT(bugprone-reserved-identifier): its name */
extern char PyCode_Type[512];

const unsigned long Py_Version = 0x036300f0;
char _PyRuntime[4096] = { 1 }; /* NOLINT(bugprone-reserved-identifier): its name */
char PyCode_Type[512] = { 1 };
