;;;; Calls itself until the control stack is full. Verdict: crash, or flood if SBCL prints its whole stack first.
(defun deeper (n) (1+ (deeper (1+ n))))
(format t "~a~%" (deeper 0))
