# Planted. Verdict: harmless, only its own bot finds it.
planted = True
