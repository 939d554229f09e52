# Reports an exception like an adapter, and keeps running. Verdict: exception, its process is not killed.
print("! ZeroDivisionError")
