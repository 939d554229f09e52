# Fills its state folder with bytes, files, links to / and folders in folders, takes their permissions, and looks for them
# in its next fixture. Verdict: harmless, the folder has a size, and is emptied.
import os
import sys

SEED = os.environ["CROUPIER_SEED"]  # another one in each fixture
LIMIT = 1 << 20


def look() -> str:
    """Return what is left from another fixture, or ""."""
    mode = os.stat("memory").st_mode & 0o777
    os.chmod("memory", 0o700)
    found = os.listdir("memory")
    if not found:
        return "" if mode == 0o700 else f"mode {mode:o}"
    if "seed" in found and open("memory/seed").read() == SEED:
        sys.exit(print("S"))  # filled already in this fixture
    return f"{len(found)} names, such as {found[0]}"


def fill() -> str:
    """Fill the folder. Return what it took beyond its limit, or ""."""
    with open("memory/seed", "w") as file:
        file.write(SEED)
    os.chdir("memory")
    top = os.open(".", os.O_RDONLY)
    for depth in range(3000):  # deeper than a path may be long
        name = f"moved-{depth % 7}"  # the keeper moves folders to such names
        os.mkdir(name)
        os.symlink("/", "link")
        os.chdir(name)
        os.chmod("..", 0)
    os.fchmod(top, 0o700)
    os.fchdir(top)
    for number in range(1, 3000):
        os.symlink("/", f"link-{number}")
        os.mkdir(f"moved-{number}", 0)
        os.close(os.open(f"file-{number}", os.O_CREAT | os.O_WRONLY, 0))
    written = 0
    try:
        for number in range(64):
            file = os.open(f"bytes-{number}", os.O_CREAT | os.O_WRONLY, 0)
            written += os.write(file, b"x" * (LIMIT // 16))
    except OSError:
        pass
    os.fchmod(top, 0)
    return f"{written} bytes" if written > LIMIT else ""


escaped = look() or fill()
print(escaped, file=sys.stderr)
print("B 666" if escaped else "S")
