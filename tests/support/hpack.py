"""Header compression of HTTP/2 (RFC 7541) for tests: a decoder of everything, an encoder of literals.

Huffman codes follow from their lengths: within one length they count up in the order of the symbols (appendix B).
"""
# {length in bits: symbols, as ranges}
LENGTHS = {
    5: "0-2 a c e i o s t", 6: "32 37 45-47 3-9 61 A 95 b d f-h l-n p r u", 7: "58 B-W Y j k q v-z",
    8: "38 42 44 59 X Z", 10: "33 34 40 41 63", 11: "39 43 124", 12: "35 62", 13: "n0 36 64 91 93 126", 14: "94 125",
    15: "60 96 123", 19: "92 195 208", 20: "128 130 131 162 184 194 224 226", 21: "153 161 167 172 176 177 179 209 216 217 227 229 230",
    22: "129 132-134 136 146 154 156 160 163 164 169 170 173 178 181 185-187 189 190 196 198 228 232 233",
    23: "n1 135 137-141 143 147 149-152 155 157 158 165 166 168 174 175 180 182 183 188 191 197 231 239",
    24: "n9 142 144 145 148 159 171 206 215 225 236 237", 25: "199 207 234 235",
    26: "192 193 200-202 205 210 213 218 219 238 240 242 243 255", 27: "203 204 211 212 214 221-223 241 244-248 250-254",
    28: "n2-n8 n11 n12 n14-n21 n23-n31 127 220 249", 30: "n10 n13 n22",
}

STATIC = [(":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"), (":scheme", "http"),
          (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
          (":status", "404"), (":status", "500"), ("accept-charset", ""), ("accept-encoding", "gzip, deflate")]
STATIC += [(name, "") for name in (
    "accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control content-disposition "
    "content-encoding content-language content-length content-location content-range content-type cookie date etag expect expires from "
    "host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified link location max-forwards "
    "proxy-authenticate proxy-authorization range referer refresh retry-after server set-cookie strict-transport-security "
    "transfer-encoding user-agent vary via www-authenticate").split()]
assert len(STATIC) == 61


def _symbol(text):
    """A character stands for itself; a number of two digits or more, or behind an n, for its code."""
    if text[0] == "n" and len(text) > 1:
        return int(text[1:])
    return ord(text) if len(text) == 1 else int(text)


def _codes():
    codes, code, before = {}, 0, 0
    for length in sorted(LENGTHS):
        symbols = []
        for part in LENGTHS[length].split():
            first, _, last = part.partition("-")
            symbols += range(_symbol(first), _symbol(last or first) + 1)
        code <<= length - before
        before = length
        for symbol in sorted(symbols):
            codes[length, code] = symbol
            code += 1
    return codes


CODES = _codes()
assert sorted(CODES.values()) == list(range(256))


def encode(fields):
    """Literals without indexing, without Huffman."""
    def text(value):
        value = value if isinstance(value, bytes) else value.encode("latin-1")
        return integer(len(value), 7, 0) + value
    return b"".join(b"\0" + text(name) + text(value) for name, value in fields)


def integer(value, bits, flags):
    most = (1 << bits) - 1
    if value < most:
        return bytes([flags | value])
    out, value = [flags | most], value - most
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + [value])


class Decoder:
    def __init__(self, limit=4096):
        self.limit = self.size_limit = limit
        self.table = []

    def _entry(self, index):
        if index < 1 or index > len(STATIC) + len(self.table):
            raise ValueError("no entry %d" % index)
        return STATIC[index - 1] if index <= len(STATIC) else self.table[index - len(STATIC) - 1]

    def _evict(self):
        while self.table and sum(len(n) + len(v) + 32 for n, v in self.table) > self.limit:
            self.table.pop()

    def _integer(self, bits):
        most = (1 << bits) - 1
        value = self.data[self.at] & most
        self.at += 1
        shift = 0
        while value >= most:
            byte = self.data[self.at]
            self.at += 1
            value += (byte & 127) << shift
            shift += 7
            if not byte & 128:
                break
        return value

    def _string(self):
        is_packed = self.data[self.at] & 128
        length = self._integer(7)
        raw = self.data[self.at:self.at + length]
        if len(raw) < length:
            raise ValueError("a string is cut")
        self.at += length
        return (unpack(raw) if is_packed else raw).decode("latin-1")

    def decode(self, data):
        self.data, self.at, fields = data, 0, []
        while self.at < len(data):
            first = data[self.at]
            if first & 128:
                fields.append(self._entry(self._integer(7)))
            elif first & 0xe0 == 0x20:
                self.limit = self._integer(5)
                if self.limit > self.size_limit:
                    raise ValueError("the table is larger than it may be")
                self._evict()
            else:
                is_kept = first & 64
                index = self._integer(6 if is_kept else 4)
                name = self._entry(index)[0] if index else self._string()
                fields.append((name, self._string()))
                if is_kept:
                    self.table.insert(0, fields[-1])
                    self._evict()
        return fields


def unpack(raw):
    """Huffman: the rest at the end is ones, and shorter than a byte."""
    out, code, length = bytearray(), 0, 0
    for byte in raw:
        for bit in range(7, -1, -1):
            code, length = code << 1 | byte >> bit & 1, length + 1
            if (length, code) in CODES:
                out.append(CODES[length, code])
                code = length = 0
    if length > 7 or code != (1 << length) - 1:
        raise ValueError("bad padding of a Huffman code")
    return bytes(out)
