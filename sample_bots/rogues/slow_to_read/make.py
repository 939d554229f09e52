# Is a Java source that a search with backtracking reads for half a minute and more, in the host. Verdict: harmless, the host
# searches it in linear time, and only its beginning.
import sys
from pathlib import Path

LINE = 'class Bot { public static void main(String[] words) { System.out.println("S"); } }\n'
ENDLESS = ["\n" * (1 << 17), "package a." * (1 << 14), "static " * (1 << 15), "class\t" * (1 << 15)]

Path(sys.argv[1], "Bot.java").write_text("/*" + "*/\n/*".join(ENDLESS) + "*/\n" + LINE)
