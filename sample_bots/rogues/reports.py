# Reports an exception as an adapter does, and lives on. Verdict: exception, its process is not touched.
print("! ZeroDivisionError")
