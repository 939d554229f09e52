;;;; Answers HIT! instead of H. Verdict: unreadable.
(format t "HIT!~%")
