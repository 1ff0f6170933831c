"""line_oracle.py : line tables of this interpreter's own library, with the lines that it says itself.

Writes to standard output, for each code object: version, first line, length of the table, count (u32 each), the table, then count pairs of
an instruction's position as the collector counts it (bytes to 3.10, units of two bytes since) and its line (0: none), both s32.
"""
import dis
import glob
import os
import struct
import sys
import types

VERSION = sys.version_info[0] << 8 | sys.version_info[1]


def code_objects(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


def lines_of(code):
    """The line of every instruction, by co_lines() where the interpreter has it."""
    size = len(code.co_code)
    lines = [0] * (size // 2)
    if VERSION >= 0x30A:
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                lines[offset // 2] = line or 0
        return lines
    starts = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for unit in range(size // 2):
        line = starts.get(2 * unit, line)
        lines[unit] = line
    return lines


def write_code(code):
    table = code.co_linetable if VERSION >= 0x30A else code.co_lnotab
    lines = lines_of(code)
    step = 1 if VERSION >= 0x30B else 2
    out = struct.pack("=4I", VERSION, code.co_firstlineno, len(table), len(lines)) + table
    out += b"".join(struct.pack("=2i", unit * step, line) for unit, line in enumerate(lines))
    sys.stdout.buffer.write(out)


def main():
    library = os.path.dirname(os.__file__)
    for path in sorted(glob.glob(library + "/[a-h]*.py")):
        with open(path, "rb") as file:
            source = file.read()
        try:
            code = compile(source, path, "exec")
        except (SyntaxError, ValueError):
            continue
        for inner in code_objects(code):
            write_code(inner)


main()
