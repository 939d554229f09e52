# Answers with HTML, a spreadsheet's formula, a path and a fake line of a log. Verdict: unreadable; evidence is text.
print("<script>alert(1)</script> =cmd|'/c calc'!A1 ../../etc/passwd  marks: S")
