# Clears the screen, sets its title, hides text and fills the clipboard. Verdict: unreadable; shown escaped, everywhere.
print("S\x1b[2J\x1b]0;winner\x07\x1b[8m\x1b]52;c;cm0gLXJm\x07")
