/*
 * Compiled against the headers of an interpreter: where its structures have what
 * python_offsets.def names, a line "field offset" for each that there is.
 */
#define Py_BUILD_CORE 1
#include "Python.h"
#include "frameobject.h"
#if PY_VERSION_HEX < 0x030b0000
#include "code.h"
#include "internal/pycore_pystate.h"
#if PY_VERSION_HEX >= 0x03090000
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#else
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe.h"
#include "internal/pycore_interpframe_structs.h"
#endif
#endif

#include <stddef.h>
#include <stdio.h>

#define FIELD(field, type, member) printf(#field " %zu\n", offsetof(type, member))
#define SIZE(field, type)          printf(#field " %zu\n", sizeof(type))

static void threads(void)
{
	FIELD(runtime_interpreters, _PyRuntimeState, interpreters.head);
	FIELD(interpreter_next, PyInterpreterState, next);
	FIELD(thread_next, PyThreadState, next);
	FIELD(thread_interpreter, PyThreadState, interp);
	FIELD(thread_id, PyThreadState, thread_id);
#if PY_VERSION_HEX < 0x030c0000
	FIELD(runtime_current, _PyRuntimeState, gilstate.tstate_current);
	FIELD(runtime_key, _PyRuntimeState, gilstate.autoTSSkey);
#else
	FIELD(runtime_key, _PyRuntimeState, autoTSSkey);
#endif
#if PY_VERSION_HEX < 0x030b0000
	FIELD(interpreter_threads, PyInterpreterState, tstate_head);
	FIELD(thread_frame, PyThreadState, frame);
#else
	FIELD(interpreter_threads, PyInterpreterState, threads.head);
#endif
#if PY_VERSION_HEX >= 0x030a0000 && PY_VERSION_HEX < 0x030d0000
	FIELD(thread_cframe, PyThreadState, cframe);
#endif
#if PY_VERSION_HEX >= 0x030a0000 && PY_VERSION_HEX < 0x030b0000
	FIELD(cframe_previous, CFrame, previous);
#elif PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000
	FIELD(cframe_previous, _PyCFrame, previous);
	FIELD(cframe_frame, _PyCFrame, current_frame);
#elif PY_VERSION_HEX >= 0x030d0000
	FIELD(thread_frame, PyThreadState, current_frame);
#endif
}

static void frames(void)
{
#if PY_VERSION_HEX < 0x030b0000
	FIELD(frame_code, PyFrameObject, f_code);
	FIELD(frame_back, PyFrameObject, f_back);
	FIELD(frame_position, PyFrameObject, f_lasti);
	FIELD(frame_locals, PyFrameObject, f_localsplus);
#else
	FIELD(frame_back, _PyInterpreterFrame, previous);
	FIELD(frame_owner, _PyInterpreterFrame, owner);
	FIELD(frame_locals, _PyInterpreterFrame, localsplus);
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
	FIELD(frame_is_entry, _PyInterpreterFrame, is_entry);
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000
	FIELD(frame_code, _PyInterpreterFrame, f_code);
	FIELD(frame_position, _PyInterpreterFrame, prev_instr);
#elif PY_VERSION_HEX >= 0x030d0000
	FIELD(frame_code, _PyInterpreterFrame, f_executable);
	FIELD(frame_position, _PyInterpreterFrame, instr_ptr);
#endif
}

static void codes(void)
{
	FIELD(code_argument_count, PyCodeObject, co_argcount);
	FIELD(code_local_count, PyCodeObject, co_nlocals);
	FIELD(code_first_line, PyCodeObject, co_firstlineno);
	FIELD(code_file, PyCodeObject, co_filename);
	FIELD(code_name, PyCodeObject, co_name);
#if PY_VERSION_HEX < 0x030b0000
	FIELD(code_variables, PyCodeObject, co_varnames);
	FIELD(code_cells, PyCodeObject, co_cellvars);
	FIELD(code_cell_arguments, PyCodeObject, co_cell2arg);
#else
	FIELD(code_variables, PyCodeObject, co_localsplusnames);
	FIELD(code_qualified_name, PyCodeObject, co_qualname);
	FIELD(code_instructions, PyCodeObject, co_code_adaptive);
#endif
#if PY_VERSION_HEX >= 0x030c0000
	FIELD(code_serial, PyCodeObject, co_version);
#endif
#if PY_VERSION_HEX < 0x030a0000
	FIELD(code_lines, PyCodeObject, co_lnotab);
#else
	FIELD(code_lines, PyCodeObject, co_linetable);
#endif
}

int main(void)
{
	threads();
	frames();
	codes();
	FIELD(object_type, PyObject, ob_type);
	FIELD(type_name, PyTypeObject, tp_name);
	FIELD(type_flags, PyTypeObject, tp_flags);
	FIELD(tuple_items, PyTupleObject, ob_item);
	FIELD(cell_object, PyCellObject, ob_ref);
	FIELD(bytes_length, PyVarObject, ob_size);
	FIELD(bytes_data, PyBytesObject, ob_sval);
	FIELD(string_length, PyASCIIObject, length);
	FIELD(string_hash, PyASCIIObject, hash);
	FIELD(string_state, PyASCIIObject, state);
	SIZE(string_ascii, PyASCIIObject);
	SIZE(string_wide, PyCompactUnicodeObject);
	return 0;
}
