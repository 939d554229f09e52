# Is a zip with 1800 nested folders, too deep for a program that recurses to unpack or to remove. Verdict: refused at the
# intake, which leaves no folder.
import sys
import zipfile
from pathlib import Path

with zipfile.ZipFile(Path(sys.argv[1], "deep_folders.zip"), "w") as archive:
    archive.writestr("x/" * 1800 + "bot.c", "int main(void) { return 0; }\n")
