#!/usr/bin/env python3
"""Hold traces against the rules for writers: docs/formats/fxt.md section 5.

    tests/fxt_rules.py [--profile] [--allow RULE,...] FILE...

A trace that keeps them is read alike by Perfetto, Fuchsia's C++ trace-reader and its Rust crate; section 3.2 says how
they differ.  This shares no code with the reader and the writer it judges, and takes nothing that it does not know.

--profile: the layout of Fuchsia's CPU profiler (section 4.2), where rule 1 asks for other records.
--allow: do not report these rules, for traces that cannot keep them.

Rules are numbered as in section 5 ("14-id": the last part of 14), and besides: "format" (no reader knows what to make of it), "rust" (the crate refuses
or drops what the others read), "clock" (the crate has one clock for all providers).  Prints "FILE: RULE at OFFSET: what"
for each violation; status 1 if there was one."""
import struct
import sys

MAGIC = 0x0016547846040010
INT64_MAX = 2**63 - 1
MOST_TEXT = 31999
MODULE, MAPPING, BACKTRACE = 0, 1, 2


class Cut(Exception):
    """A part does not fit into its record."""


def bits(word, first, last):
    return word >> first & (1 << (last - first + 1)) - 1


class Words:
    """The words of a record, of which some are read."""

    def __init__(self, rules, data):
        self.rules, self.data, self.at = rules, data, 0

    def left(self):
        return (len(self.data) - self.at) // 8

    def word(self):
        if self.left() < 1:
            raise Cut('ends before its last field')
        value, = struct.unpack_from('<Q', self.data, self.at)
        self.at += 8
        return value

    def stream(self, length, what):
        padded = length + -length % 8
        if padded > len(self.data) - self.at:
            raise Cut('%s of %d bytes in %d' % (what, length, len(self.data) - self.at))
        text = self.data[self.at:self.at + length]
        if any(self.data[self.at + length:self.at + padded]):
            self.rules.broken('6', 'padding of %s is not 0' % what)
        self.at += padded
        return text


class Provider:
    def __init__(self):
        self.strings, self.threads, self.ticks, self.base = {}, {}, None, 0


class Rules:
    def __init__(self, data, profile):
        self.data, self.profile = data, profile
        self.violations = []
        self.offset = 0
        self.providers = {None: Provider()}
        self.current = None
        self.all_threads = {}  # Rust has one table for all providers
        self.all_ticks = set()
        self.module_ids = set()
        self.modules = set()

    def broken(self, rule, what):
        self.violations.append((rule, self.offset, what))

    # ---- Fields ----

    def reserved(self, word, first, last, what):
        if bits(word, first, last):
            self.broken('6', 'reserved bits %d..%d of %s are not 0' % (first, last, what))

    def text(self, text, what, most=MOST_TEXT):
        try:
            text.decode('utf-8')
        except UnicodeDecodeError:
            self.broken('7', '%s is not UTF-8: %r' % (what, text[:40]))
        if len(text) > most:
            self.broken('8', '%s of %d bytes' % (what, len(text)))
        return text

    def string(self, reference, words, what):
        if reference == 0:
            return b''
        if reference == 0x8000:
            self.broken('6', 'empty %s is written inline' % what)
        if reference & 0x8000:
            return self.text(words.stream(reference & 0x7fff, what), what)
        if reference not in self.providers[self.current].strings:
            self.broken('4', '%s refers to string %d, which is not registered' % (what, reference))
            return b''
        return self.providers[self.current].strings[reference]

    def thread(self, reference, words):
        if reference == 0:
            return words.word(), words.word()
        if reference not in self.providers[self.current].threads:
            self.broken('4', 'thread %d is not registered' % reference)
            return 0, 0
        thread = self.providers[self.current].threads[reference]
        if self.all_threads[reference] != thread:
            self.broken('5', 'thread %d was another provider\'s last: Rust takes that one' % reference)
        return thread

    def time(self, ticks):
        provider = self.providers[self.current]
        if provider.ticks is None:
            self.broken('rust', 'a time before the initialization record: 1 tick is 1 s')
        elif not 0 <= (ticks - provider.base) * 10**9 // provider.ticks <= INT64_MAX:
            self.broken('10', 'time %d is out of range' % ticks)

    def arguments(self, count, words):
        found = {}
        for _ in range(count):
            begin = words.at
            header = words.word()
            kind, size = bits(header, 0, 3), bits(header, 4, 15)
            if size == 0 or size - 1 > words.left():
                raise Cut('argument of %d words' % size)
            part = Words(self, words.data[begin + 8:begin + 8 * size])
            words.at = begin + 8 * size
            name = self.string(bits(header, 16, 31), part, 'name of an argument')
            if not name:
                self.broken('9', 'argument without a name')
            value = None
            if kind in (0, 3, 4, 5, 7, 8):
                self.reserved(header, 32, 63, 'an argument')
            if kind in (3, 4, 5, 7, 8):
                value = part.word()
            elif kind == 6:
                self.reserved(header, 48, 63, 'an argument')
                value = self.string(bits(header, 32, 47), part, 'value of an argument')
            elif kind == 9:
                self.reserved(header, 33, 63, 'a bool')
            elif kind == 10:
                self.broken('9', 'blob argument')
                part.stream(bits(header, 32, 63), 'blob argument')
            elif kind > 10:
                self.broken('9', 'argument of type %d' % kind)
            if part.left():
                self.broken('rust', 'argument with %d words behind its value' % part.left())
            found.setdefault(name, (kind, value))
        return found

    # ---- Records, by type ----

    def metadata(self, header, words):
        subtype = bits(header, 16, 19)
        id = bits(header, 20, 51)
        if subtype == 1:
            self.reserved(header, 60, 63, 'provider info')
            self.text(words.stream(bits(header, 52, 59), 'name of a provider'), 'name of a provider')
            if id == 0:
                self.broken('1', 'provider 0')
            self.providers[id] = Provider()
            self.current = id
        elif subtype == 2:
            self.reserved(header, 52, 63, 'provider section')
            if id not in self.providers:
                self.broken('1', 'section of provider %d, which nothing introduced: Perfetto drops all in it' % id)
            self.providers.setdefault(id, Provider())
            self.current = id
        elif subtype == 3:
            self.reserved(header, 56, 63, 'provider event')
            if self.profile:
                self.broken('1', 'provider event in a profile')
        elif header != MAGIC:
            self.broken('format', 'metadata %#x' % header)

    def initialization(self, header, words):
        self.reserved(header, 16, 63, 'initialization')
        provider = self.providers[self.current]
        ticks = words.word()
        if ticks == 0:
            self.broken('10', '0 ticks a second')
            return
        provider.ticks, provider.base = ticks, 0
        if words.left():
            self.broken('1', 'initialization of %d words: Rust takes 2' % (2 + words.left()))
            provider.base = words.word()
            words.at = len(words.data)
        self.all_ticks.add(ticks)
        if len(self.all_ticks) > 1:
            self.broken('clock', 'another clock of %d ticks a second' % ticks)

    def string_record(self, header, words):
        self.reserved(header, 31, 31, 'string record')
        self.reserved(header, 47, 63, 'string record')
        index = bits(header, 16, 30)
        text = self.text(words.stream(bits(header, 32, 46), 'string'), 'string')
        strings = self.providers[self.current].strings
        if index == 0:
            self.broken('format', 'string record for index 0')
        if index in strings:
            self.broken('3', 'string %d is registered twice' % index)
        if self.current is None:
            self.broken('rust', 'string record before any provider: dropped')
        strings[index] = text

    def thread_record(self, header, words):
        self.reserved(header, 24, 63, 'thread record')
        index, thread = bits(header, 16, 23), (words.word(), words.word())
        threads = self.providers[self.current].threads
        if index == 0:
            self.broken('format', 'thread record for index 0')
        if index in threads:
            self.broken('3', 'thread %d is registered twice' % index)
        self.all_threads[index] = threads[index] = thread

    def event(self, header, words):
        kind = bits(header, 16, 19)
        ticks = words.word()
        self.time(ticks)
        self.thread(bits(header, 24, 31), words)
        self.string(bits(header, 32, 47), words, 'category')
        self.string(bits(header, 48, 63), words, 'name')
        self.arguments(bits(header, 20, 23), words)
        if kind in (1, 5, 6, 7, 8, 9, 10) or (kind == 0 and words.left()):
            words.word()
        elif kind == 4:
            end = words.word()
            self.time(end)
            if end < ticks:
                self.broken('10', 'ends before it begins')
        elif kind > 10:
            self.broken('format', 'event of type %d' % kind)
            words.at = len(words.data)

    def blob(self, header, words):
        self.reserved(header, 47, 47, 'blob')
        self.reserved(header, 56, 63, 'blob')
        self.string(bits(header, 16, 31), words, 'name')
        words.stream(bits(header, 32, 46), 'blob')

    def userspace_object(self, header, words):
        self.reserved(header, 44, 63, 'userspace object')
        words.word()
        reference = bits(header, 16, 23)
        if reference == 0:
            self.broken('13', 'process of a userspace object is inline')
            words.word()
        else:
            self.thread(reference, words)
        self.string(bits(header, 24, 39), words, 'name')
        self.arguments(bits(header, 40, 43), words)

    def kernel_object(self, header, words):
        self.reserved(header, 44, 63, 'kernel object')
        words.word()
        self.string(bits(header, 24, 39), words, 'name')
        found = self.arguments(bits(header, 40, 43), words)
        if bits(header, 16, 23) == 2 and found.get(b'process', (0,))[0] != 8:
            self.broken('11', 'thread without its process')

    def scheduling(self, header, words):
        subtype = bits(header, 60, 63)
        if subtype > 2:
            self.broken('format', 'scheduling record of subtype %d' % subtype)
            words.at = len(words.data)
            return
        self.time(words.word())
        if subtype == 0:
            self.thread(bits(header, 28, 35), words)
            self.thread(bits(header, 36, 43), words)
            return
        self.reserved(header, 40 if subtype == 1 else 36, 59, 'scheduling record')
        for _ in range(2 if subtype == 1 else 1):
            words.word()
        self.arguments(bits(header, 16, 19), words)

    def log(self, header, words):
        self.reserved(header, 31, 31, 'log')
        self.reserved(header, 40, 63, 'log')
        self.time(words.word())
        self.thread(bits(header, 32, 39), words)
        self.text(words.stream(bits(header, 16, 30), 'message'), 'message')

    def profiler(self, header, words):
        subtype, reference, id = bits(header, 16, 19), bits(header, 20, 27), bits(header, 28, 43)
        if subtype > 2:
            self.broken('format', 'profiler record of subtype %d' % subtype)
            words.at = len(words.data)
            return
        self.time(words.word())
        if reference:
            self.broken('14', 'thread of a profiler record is not inline')
        process, thread = self.thread(reference, words)
        if subtype != BACKTRACE and thread:
            self.broken('14', 'thread %d in a module or mapping' % thread)
        if subtype == MODULE:
            self.reserved(header, 60, 63, 'module')
            self.text(words.stream(bits(header, 44, 51), 'name of a module'), 'name of a module')
            words.stream(bits(header, 52, 59), 'build ID')
            if id in self.module_ids and len(self.module_ids) < 65536:
                self.broken('14-id', 'module %d again' % id)
            self.module_ids.add(id)
            self.modules.add((process, id))
        elif subtype == MAPPING:
            self.reserved(header, 47, 63, 'mapping')
            if (process, id) not in self.modules:
                self.broken('14', 'mapping of module %d, which does not come before' % id)
            for _ in range(3):
                words.word()
        else:
            self.reserved(header, 36, 63, 'backtrace')
            if words.left() != bits(header, 28, 35):
                self.broken('14', '%d frames called %d' % (words.left(), bits(header, 28, 35)))
            words.at = len(words.data)

    def large(self, header, words):
        form = bits(header, 40, 43)
        self.reserved(header, 44, 63, 'large record')
        if bits(header, 36, 39) or form > 1:
            self.broken('format', 'large record %#x' % header)
            words.at = len(words.data)
            return
        if form == 1:
            self.broken('12', 'large blob of format 1')
        word = words.word()
        self.reserved(word, 44 if form == 0 else 32, 63, 'format word')
        category = self.string(bits(word, 0, 15), words, 'category')
        name = self.string(bits(word, 16, 31), words, 'name')
        if form == 0:
            self.time(words.word())
            self.thread(bits(word, 36, 43), words)
            self.arguments(bits(word, 32, 35), words)
        words.stream(words.word(), 'payload')
        if self.profile and (category, name) != (b'cpu_profiler', b'stack_sample'):
            self.broken('1', 'large blob in a profile')

    DECODERS = {0: metadata, 1: initialization, 2: string_record, 3: thread_record, 4: event, 5: blob, 6: userspace_object,
                7: kernel_object, 8: scheduling, 9: log, 10: profiler, 15: large}

    # ---- The file ----

    def record(self, header, data):
        kind = header & 15
        if kind not in self.DECODERS:
            self.broken('format', 'record of type %d' % kind)
            return
        if self.profile and kind in (4, 5, 6, 8, 9):
            self.broken('1', 'record of type %d in a profile' % kind)
        words = Words(self, data[8:])
        try:
            self.DECODERS[kind](self, header, words)
        except Cut as error:
            self.broken('15', 'record of type %d: %s' % (kind, error))
            return
        if words.left() and kind not in (4, 5):
            self.broken('rust', 'record of type %d with %d words behind its last field' % (kind, words.left()))

    def start(self):
        """What rule 1 asks of the first records."""
        kinds, at = [], 0
        while len(kinds) < 3 and at + 8 <= len(self.data):
            header, = struct.unpack_from('<Q', self.data, at)
            kinds.append('magic' if header == MAGIC else 'info' if header & 0xf000f == 0x10000 else header & 15)
            at += 8 * max(1, bits(header, 4, 15))
        wanted = ['magic', 1] if self.profile else ['magic', 'info', 1]
        if kinds[:len(wanted)] != wanted:
            self.broken('1', 'begins with %s' % kinds)

    def file(self):
        self.start()
        while len(self.data) - self.offset >= 8:
            header, = struct.unpack_from('<Q', self.data, self.offset)
            size = bits(header, 4, 35) if header & 15 == 15 else bits(header, 4, 15)
            if size == 0:
                self.broken('format', 'word %#x where a record is due' % header)
                return
            if size >= 4096:
                self.broken('2', 'record of %d words' % size)
            if 8 * size > len(self.data) - self.offset:
                self.broken('format', 'cut in its last record')
                return
            self.record(header, self.data[self.offset:self.offset + 8 * size])
            self.offset += 8 * size
        if self.offset != len(self.data):
            self.broken('format', '%d bytes at the end' % (len(self.data) - self.offset))


def violations(data, profile=False):
    rules = Rules(data, profile)
    rules.file()
    return rules.violations


def main(arguments):
    allowed, profile, status = set(), False, 0
    while arguments and arguments[0].startswith('--'):
        option = arguments.pop(0)
        if option == '--profile':
            profile = True
        elif option == '--allow' and arguments:
            allowed |= set(arguments.pop(0).split(','))
        else:
            sys.exit(__doc__)
    for path in arguments:
        with open(path, 'rb') as trace:
            found = violations(trace.read(), profile)
        for rule, offset, what in found:
            if rule not in allowed:
                print('%s: %s at %d: %s' % (path, rule, offset, what))
                status = 1
    return status


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
