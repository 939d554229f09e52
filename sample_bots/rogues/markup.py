# Answers with HTML, a spreadsheet formula, a path and a fake log line. Verdict: unreadable; evidence is shown as text.
print("<script>alert(1)</script> =cmd|'/c calc'!A1 ../../etc/passwd  marks: S")
