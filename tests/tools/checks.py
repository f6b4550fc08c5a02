"""Comparisons that are counted: tests go on behind the first that fails."""
failures = 0


def check(what, got, want):
    global failures
    if got != want:
        failures += 1
        print("FAIL: %s: %d rows, not %d" % (what, len(got), len(want)))
        for g, w in list(zip(got, want)):
            if g != w:
                print("   got ", g, "\n   want", w)
                break
